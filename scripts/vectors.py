#!/usr/bin/env python3
"""Recomputes every vector in spec/vectors/ with nothing but Python's standard library.

The formulas are the first twenty lines of code; what follows only compares. Documents stand in the
vector files as text, so that no JSON reader on the way can round a number or drop a duplicate key.
"""
import hashlib, json, pathlib, sys
from decimal import Decimal

def number(x):
    """ECMAScript's text of a number; integers keep every digit."""
    if isinstance(x, int): return str(x)
    if x == 0: return "0"
    sign, digits, exponent = Decimal(repr(x)).normalize().as_tuple()
    d, n = "".join(map(str, digits)), len(digits) + exponent
    if 0 < n <= 21: text = d.ljust(n, "0")[:n] + ("." + d[n:] if len(d) > n else "")
    elif -6 < n <= 0: text = "0." + "0" * -n + d
    else: text = d[0] + ("." + d[1:] if d[1:] else "") + "e%+d" % (n - 1)
    return "-" * sign + text

def canonical(v):
    if isinstance(v, dict):
        keys = sorted(v, key=lambda k: k.encode("utf-16-be"))
        return "{" + ",".join(canonical(k) + ":" + canonical(v[k]) for k in keys) + "}"
    if isinstance(v, list): return "[" + ",".join(map(canonical, v)) + "]"
    if isinstance(v, (int, float)) and not isinstance(v, bool): return number(v)
    return json.dumps(v, ensure_ascii=False)

def digest(v): return "sha256:" + hashlib.sha256(canonical(v).encode()).hexdigest()
def request_digest(capability, given): return digest({"capabilityId": capability, "input": {} if given is None else given})

def fnv1a64(text, h=0xCBF29CE484222325):
    for byte in text.encode(): h = (h ^ byte) * 0x100000001B3 % 2**64
    return "%016x" % h

FINGERPRINT = ("capabilityId", "registrationId", "instanceId", "surfaceVersion", "input", "confirmationId")
IDENTITY = ("invocationId", "registrationId", "instanceId")

def verify(result, request):
    """What as_verify_result reports in `checks`."""
    capability = request["capabilityId"]
    checks = {"capabilityId": result["capabilityId"] == capability}
    if "input" in request or "effectiveInput" not in request:
        checks["issuedDigest"] = result.get("issuedDigest") == request_digest(capability, request.get("input"))
    if "effectiveInput" in request:
        checks["requestDigest"] = result.get("requestDigest") == request_digest(capability, request["effectiveInput"])
    if "output" in result or "outputDigest" in result:
        checks["outputDigest"] = "output" in result and result.get("outputDigest") == digest(result["output"])
    checks.update({key: result.get(key) == request[key] for key in IDENTITY if key in request})
    return checks

def vectors(folder):
    """Every vector as (name, expected, computed)."""
    read = lambda name: json.loads((folder / name).read_text(encoding="utf-8"))
    for v in read("canonical.json")["accepted"]:
        yield "canonical: " + v["name"], v["canonical"], canonical(json.loads(v["json"]))
    for v in read("digests.json")["requests"]:
        yield "request: " + v["name"], v["digest"], request_digest(v["capabilityId"], json.loads(v["input"] or "{}"))
    for v in read("digests.json")["outputs"]:
        yield "output: " + v["name"], v["digest"], digest(json.loads(v["output"]))
    for v in read("fingerprints.json"):
        request = json.loads(v["request"])
        text = canonical({key: request.get(key) for key in FINGERPRINT})
        yield "fingerprint: " + v["name"], (v["canonical"], v["fnv1a64"], v["sha256"]), (
            text, fnv1a64(text), hashlib.sha256(text.encode()).hexdigest())
    for v in read("results.json"):
        checks = verify(json.loads(v["result"]), json.loads(v["request"]))
        yield "result: " + v["name"], (v["checks"], v["valid"]), (checks, all(checks.values()))

def main():
    failed = passed = 0
    for name, expected, computed in vectors(pathlib.Path(__file__).parent.parent / "spec" / "vectors"):
        if computed == expected: passed += 1
        else: failed += 1; print(f"FAIL {name}\n  expected {expected}\n  computed {computed}")
    print(f"{passed} passed, {failed} failed")
    return failed > 0 or passed == 0

if __name__ == "__main__":
    sys.exit(main())
