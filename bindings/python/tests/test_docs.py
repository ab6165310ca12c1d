"""What the README and the pages show runs as it stands there."""
from __future__ import annotations

import re
import subprocess
import sys
import textwrap
from typing import List

import pytest
from conftest import HERE, PROJECT


def blocks(page: str) -> List[str]:
    path = HERE.parent / page if (HERE.parent / page).exists() else PROJECT / page
    if not path.exists():
        pytest.skip(f"NOT TESTED: {page} is not here")
    return re.findall(r"```python\n(.*?)```", path.read_text(encoding="utf-8"), re.S)


def run(code: str) -> "subprocess.CompletedProcess[str]":
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0 and done.stderr == "", done.stderr
    return done


def test_the_quick_start_prints_what_the_readme_says() -> None:
    text = (HERE.parent / "README.md").read_text(encoding="utf-8")
    shown = re.search(r"```python\n(.*?)```\n\n```\n(.*?)```", text, re.S)
    assert shown is not None
    assert run(shown.group(1)).stdout == shown.group(2)


def test_the_asyncio_program_runs() -> None:
    assert run(blocks("README.md")[1]).stdout.startswith("sent to ada, approved as cnf_")


@pytest.mark.parametrize("number", [0, 1])
def test_the_tests_of_the_testing_page_pass(number: int) -> None:
    code = blocks("docs/python-testing.md")[number]
    name = re.search(r"def (test_\w+)", code)
    assert name is not None
    run(f"{code}\n{name.group(1)}()")


def test_the_policies_of_the_policy_page_are_taken() -> None:
    first, function, classes = blocks("docs/python-policies.md")[:3]
    run(
        f"{first}\nassert surface.invoke_sync('domain:orders.refund', {{'amount': 10}}).output is True\n"
        "assert surface.invoke_sync('domain:orders.refund', {'amount': 60}).error.details['summary'] == 'Refund 60'\n"
    )
    run(
        f"{function}\n{classes}\nfrom agent_surface import Surface\n"
        "class directory:\n    @staticmethod\n    async def allows(id): return True\n"
        "online = lambda: True\n"
        "surface = Surface.testing(policies=[small_hours, Careful()])\n"
        "@surface.component('c', description='C').action('go')\ndef go(amount: float) -> str:\n    return 'iban'\n"
        "result = surface.invoke_sync('view:c.go', {'amount': 10})\n"
        "assert result.error.message == 'Wait until six.', result\n"
        "surface.advance(7 * 3600)\n"
        "assert surface.invoke_sync('view:c.go', {'amount': 10}).output == 'redacted'\n"
        "assert surface.invoke_sync('view:c.go', {'amount': 2000}).confirmation_id\n"
    )


def coroutine(name: str, block: str) -> str:
    return f"async def {name}():\n{textwrap.indent(block, '    ')}\n"


def test_the_projects_readme_runs() -> None:
    quick, loop = blocks("../../README.md")
    assert run(quick).stdout == "hello Ada\n"
    call = "{'id': 'c1', 'type': 'function', 'function': {'name': 'view_house__lights__switchOff', 'arguments': '{\"room\": \"hall\"}'}}"
    model = (
        "def model(messages, tools):\n    asked = any(message['role'] == 'tool' for message in messages)\n"
        f"    return {{'role': 'assistant', 'content': 'Done'}} if asked else {{'role': 'assistant', 'tool_calls': [{call}]}}\n"
    )
    told = run(f"{loop}\n{model}for message in asyncio.run(run(model, [{{'role': 'user'}}])): print(message)").stdout
    assert "hall is dark" in told and "Done" in told


def test_the_toolset_block_runs() -> None:
    before = (
        "import asyncio\nfrom agent_surface import Consumer, Surface\nsurface = Surface()\nmessages = []\n"
        "surface.component('c', description='C').action('go')(lambda: 7)\n"
        "tool_call = {'id': 'c1', 'type': 'function', 'function': {'name': 'view_c__go', 'arguments': '{}'}}\n"
    )
    after = "asyncio.run(main())\nassert '7' in messages[0]['content'], messages\n"
    run(before + coroutine("main", blocks("README.md")[2]) + after)


def test_the_confirmations_of_the_policy_page() -> None:
    surface, _, _, calls, watching = blocks("docs/python-policies.md")
    one_by_one, at_once = calls.split("\n\n")
    before = f"import asyncio\n{surface}\nshow, user, yes = print, 'mara', True\n{coroutine('person', watching)}"
    main = f"{one_by_one}\nassert done.ok\nperson_there = asyncio.ensure_future(person())\n{at_once}\nassert done.ok\nperson_there.cancel()\n"
    assert run(f"{before}{coroutine('main', main)}asyncio.run(main())").stdout == "Refund 80 {'amount': 80}\n"
