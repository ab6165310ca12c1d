"""`agent-surface inspect`: the surface as one consumer sees it, and why."""
from __future__ import annotations

import argparse
import json
from typing import Any, List, Mapping, Optional, cast

from ..consumer import Consumer, ConsumerKind
from ..surface import Surface
from . import app
from .console import Console


def command(chosen: argparse.Namespace) -> int:
    console = Console()
    surface = app.load(chosen.app)
    consumer = _consumer(chosen.consumer)
    with surface:
        document = surface.explain(consumer=consumer) if chosen.explain else surface.snapshot(consumer=consumer)
        if chosen.json:
            print(json.dumps(document, ensure_ascii=False, indent=2))
        elif chosen.explain:
            _explain(console, document)
        else:
            _catalog(console, surface, document)
    return 0


def _consumer(text: Optional[str]) -> Optional[Consumer]:
    if text is None:
        return None
    kind, colon, id = text.partition(":")
    return Consumer(id, cast(ConsumerKind, kind)) if colon else Consumer(text)


def _catalog(console: Console, surface: Surface, document: Mapping[str, Any]) -> None:
    console.say(f"{document['surfaceId']}, version {document['surfaceVersion']}", "note")
    for component in document["components"]:
        console.say(f"\n{component['type']} ({component['instanceId']}): {component['description']}", "heading")
        for capability in component["observations"]:
            _capability(console, "observes", capability["capabilityId"], capability)
        for capability in component["actions"]:
            _capability(console, "acts", capability["capabilityId"], capability)
    if document["procedures"]:
        console.say("\nprocedures", "heading")
    for procedure in document["procedures"]:
        _capability(console, "runs", procedure["procedureId"], procedure)
    if not document["components"] and not document["procedures"]:
        console.say("\nThis consumer sees nothing. Try --explain.", "asks")


def _capability(console: Console, verb: str, id: str, capability: Mapping[str, Any]) -> None:
    console.say(f"  {verb:9} {id}  {_parameters(capability.get('inputSchema', {}))}")
    console.say(f"            {capability['description']}", "note")
    notes: List[str] = []
    if capability.get("effect") not in (None, "read", "local-state"):
        notes.append(capability["effect"])
    if capability.get("confirmation", "never") != "never":
        notes.append(f"confirmation {capability['confirmation']}")
    if capability.get("boundFields"):
        notes.append("filled in: " + ", ".join(field["path"] for field in capability["boundFields"]))
    if capability.get("contextualNote"):
        notes.append(capability["contextualNote"])
    if notes:
        console.say(f"            {'; '.join(notes)}", "note")
    if not capability["available"]:
        console.say(f"            not now: {capability.get('unavailableReason', 'unavailable')}", "failed")


def _parameters(schema: Mapping[str, Any]) -> str:
    required = schema.get("required", [])
    names = [name if name in required else f"{name}?" for name in schema.get("properties", {})]
    return f"({', '.join(names)})" if names else ""


def _explain(console: Console, document: Mapping[str, Any]) -> None:
    styles = {"expose": "ok", "disable": "asks", "hide": "failed"}
    for capability in document["capabilities"]:
        outcome = capability["outcome"]
        reason = f": {capability['reason']}" if capability.get("reason") else ""
        console.say(f"{outcome:8} {capability['capabilityId']}{reason}", styles.get(outcome))
        available = capability["availability"]
        if not available["available"]:
            console.say(f"         not available: {available.get('reason', 'unavailable')}", "note")
        for policy in capability["policies"]:
            votes = [policy["discovery"]] if policy.get("discovery") else []
            votes += ["failed"] if policy.get("failed") else []
            votes += ["asks a person"] if policy.get("confirms") else []
            console.say(f"         {policy['scope']} policy {policy['name']}: {_votes(votes)}", "note")


def _votes(votes: Any) -> str:
    return ", ".join(vote if isinstance(vote, str) else json.dumps(vote) for vote in votes) or "no say in what is shown"
