"""The application of both loops: a house with lights, and the person who sits in front of it."""
from __future__ import annotations

from typing import List

from agent_surface import Surface

surface = Surface()
lights = surface.component("house.lights", description="The lights of the house")
state = {"kitchen": True, "hall": True}


@lights.observation()
def which_are_on() -> List[str]:
    """The rooms whose light is on."""
    return [room for room, on in state.items() if on]


@lights.action(confirmation="required")
async def switch_off(room: str) -> bool:
    """Switch the light of a room off."""
    state[room] = False
    return True


async def person() -> None:
    """Whoever sits in front of the application."""
    async for confirmation in surface.confirmations:
        print("a person approves:", confirmation.summary)
        confirmation.approve(approver="ada")
