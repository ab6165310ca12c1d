"""An order desk that lends a hand to agents: what they may see, do, and only do once a person has agreed.

    agent-surface inspect desk.py
    agent-surface replay desk.jsonl --app desk.py --html timeline.html
"""
from __future__ import annotations

import asyncio
import dataclasses
from typing import Annotated, Dict, List, Literal

from agent_surface import Condition, Context, Failure, Field, Surface, rate_limit, require_confirmation


@dataclasses.dataclass
class Order:
    id: str
    customer: str
    total: float
    status: Literal["open", "paid", "refunded"]


@dataclasses.dataclass
class Refunded:
    order: str
    amount: float
    approved: bool


ORDERS: Dict[str, Order] = {
    order.id: order
    for order in (
        Order("o-17", "Ada", 40.0, "paid"),
        Order("o-18", "Ben", 480.0, "paid"),
        Order("o-19", "Cleo", 12.5, "open"),
    )
}
selected: List[str] = []

surface = Surface(policies=[rate_limit(50, per=60)])
table = surface.component("orders.table", description="The orders on the screen")
desk = surface.component("orders.desk", description="What the desk can do with the selected order")


@table.observation()
def visible() -> List[Order]:
    """The orders that the table shows."""
    return list(ORDERS.values())


@table.action()
def select(ids: Annotated[List[str], Field(min_length=1, max_length=3)]) -> List[str]:
    """Select orders of the table.

    Args:
        ids: Ids as `visible` gives them.
    """
    unknown = [id for id in ids if id not in ORDERS]
    if unknown:
        raise Failure("PRECONDITION_FAILED", "Select only orders that the table shows.", retry="with-changes")
    selected[:] = ids
    return selected


@table.action(timeout=2)
async def refresh() -> int:
    """Ask the warehouse for the state of every order."""
    await asyncio.sleep(0.05)
    return len(ORDERS)


def selection() -> Dict[str, str]:
    return {"order": selected[0]}


@desk.procedure(
    "orders.refund",
    effect="external-side-effect",
    confirmation="never",
    policies=[require_confirmation(Condition("/amount", "greater", 50), summary="Refund {/amount} for order {/order}")],
    bind=selection,
    bound_fields=["order"],
    when=lambda: len(selected) == 1,
    describe=lambda: f"selected: {', '.join(selected) or 'nothing'}",
)
async def refund(order: str, amount: Annotated[float, Field(gt=0)], context: Context) -> Refunded:
    """Pay money back for the selected order."""
    paid = ORDERS[order]
    if amount > paid.total:
        raise Failure("PRECONDITION_FAILED", f"Refund at most {paid.total}.", retry="with-changes")
    await asyncio.sleep(0.01)  # the payment provider
    paid.status = "refunded"
    return Refunded(order, amount, context.confirmation is not None)
