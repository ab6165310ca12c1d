"""The scenario runner: drives a registry through the C ABI as scenario files say, and holds what it sees against them.

The same files, rules and lines as the runner in `tests/scenarios` of the project, in Python: `python -m scenarios [--dispatch
push|pull] [--filter SUBSTRING] [FILE…]` with this folder's parent on the path.
"""
