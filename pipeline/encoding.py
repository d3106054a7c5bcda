"""Text of paths: a path is bytes, which need not be UTF-8, and what is stored and shown of it is text."""


def storable(text: str) -> str:
    r"""Text as UTF-8 has it: of a path with other bytes, which Python holds as lone surrogates, these as `\udcff`."""
    return text.encode("utf-8", "backslashreplace").decode()
