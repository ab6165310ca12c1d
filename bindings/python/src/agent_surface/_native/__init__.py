"""The low layer: the C ABI of the runtime as Python functions. Handles are integers, documents are `bytes` in, `str` out.

Everything here is one call of the library. The package above it is what people use; this is what it stands on.
"""
