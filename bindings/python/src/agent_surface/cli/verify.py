"""`agent-surface verify`: every result in a file again, without the surface that made it."""
from __future__ import annotations

import argparse
import json
import pathlib
from typing import Any, Dict, List, Mapping, Optional, cast

from .._native import abi
from ..errors import AgentSurfaceError
from ..verify import request_digest, verify
from .app import Unusable
from .console import Console


def command(chosen: argparse.Namespace) -> int:
    console = Console()
    try:
        # As bytes, and only at the ends of lines: half a line may end within a character, and texts hold other breaks.
        lines = pathlib.Path(chosen.log).read_bytes().split(b"\n")
    except OSError as why:
        raise Unusable(f"{chosen.log} cannot be read: {why}") from None
    checked = wrong = bare = 0
    started: Dict[str, Mapping[str, Any]] = {}
    for number, line in enumerate(console.progress(lines, len(lines), "verifying"), 1):
        if not line.strip():
            continue
        faults = _faults(line, started)
        if faults is None:
            bare += 1
            continue
        checked += 1
        if faults:
            wrong += 1
            console.say(f"line {number}: {'; '.join(faults)}", "failed")
    console.say(f"{checked} results checked, {wrong} wrong, {bare} lines without one", "failed" if wrong else "ok")
    return 1 if wrong else 0


def _faults(line: bytes, started: Dict[str, Mapping[str, Any]]) -> Optional[List[str]]:
    """What does not hold; None where the line holds no result."""
    try:
        document = json.loads(line.decode("utf-8"))
    except (ValueError, RecursionError) as why:
        return [f"not JSON, perhaps torn: {why}"]
    if not isinstance(document, dict):
        return ["no entry of a log"]
    entry = cast("Dict[str, Any]", document)
    if "result" in entry and "request" in entry:
        return _result_faults(entry["request"], entry["result"])
    if entry.get("type") == "invocation-started":
        started[str(entry.get("attemptId"))] = entry
        return None
    if entry.get("type") != "invocation-settled":
        return None
    try:
        return _audit_faults(entry, started)
    except (AgentSurfaceError, KeyError, TypeError, ValueError) as why:
        return [f"no entry of an audit: {why}"]


def _result_faults(request: Mapping[str, Any], result: Mapping[str, Any]) -> List[str]:
    try:
        given = {"input": request["input"]} if "input" in request else {}
        report = verify(result, request["capabilityId"], invocation_id=request.get("invocationId"), **given)
    except (AgentSurfaceError, KeyError, TypeError, ValueError) as why:
        return [f"no result: {why}"]
    return [f"{name} does not match" for name, holds in report.checks.items() if not holds]


def _audit_faults(entry: Mapping[str, Any], started: Mapping[str, Mapping[str, Any]]) -> List[str]:
    """An audit entry against what it keeps of the call, and against the entry of its start."""
    faults: List[str] = []
    begun = started.get(str(entry.get("attemptId")), {})
    for name in ("invocationId", "capabilityId", "issuedDigest"):
        if name in begun and begun[name] != entry.get(name):
            faults.append(f"{name} is not that of its start")
    payload = entry.get("payload")
    if isinstance(payload, dict) and "input" in payload and "requestDigest" in entry:
        if request_digest(entry["capabilityId"], payload["input"]) != entry["requestDigest"]:
            faults.append("requestDigest does not match the input")
    if isinstance(payload, dict) and "output" in payload and "outputDigest" in entry:
        if _output_digest(payload["output"]) != entry["outputDigest"]:
            faults.append("outputDigest does not match the output")
    return faults


def _output_digest(output: Any) -> str:
    import hashlib

    canonical = abi.canonical_json(json.dumps(output, ensure_ascii=False).encode("utf-8"))
    return "sha256:" + hashlib.sha256(canonical.encode("utf-8")).hexdigest()
