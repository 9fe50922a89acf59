#!/usr/bin/env python3
"""The coroutine shapes that g++ 12 miscompiles, found in the text of our sources.

In a full expression that contains co_await, g++ 12.2 destroys some temporaries twice or frees what was never
allocated (clang does not). These are the shapes, each seen to crash under AddressSanitizer:

    co_await f(Options{.a = "x"})        an aggregate temporary, also as Options("x") and as f({"x"})
    co_await [s]() -> Task { ... }()     a lambda that captures by copy, called in place
    co_await f([s] { ... })              the same lambda as an argument

The way out is always a name: `Options options{...}; co_await f(std::move(options));`. A class with a constructor is
safe; from the text alone `Type{...}` may be either, so inside co_await such a class is written `Type(...)`, and
Type(...) is refused where Type is a struct of ours without a constructor.

A statement is the unit. Bodies of lambdas inside it are statements of their own.
Usage: check_coro.py [ROOT]
"""

import re

import source_text

_TOKEN = re.compile(r"[A-Za-z_]\w*|::|->|&&|==|!=|<=|>=|[^\s\w]|\d[\w.']*")
_OPEN = {"(": ")", "[": "]", "{": "}"}
_BLOCK_BEFORE = {")", "}", "]", "else", "do", "try", "mutable", "const", "noexcept", "override", "final"}
_BLOCK_HEADS = {"namespace", "class", "struct", "union", "enum", "extern"}
_NOT_A_TYPE = {"return", "co_return", "co_yield", "co_await", "throw", "else", "case", "new"}


class Node:
    """A bracket with what it holds: tokens are (text, offset), nested brackets are Nodes."""

    def __init__(self, kind, offset):
        self.kind = kind  # "(", "[", "block", "init" or "file"
        self.offset = offset
        self.items = []


def _last_texts(items):
    """The texts of the current statement in this bracket, nested brackets as their opening character."""
    texts = []
    for item in reversed(items):
        if isinstance(item, Node):
            if item.kind == "block" and not texts:
                texts.append("}")
                break
            if item.kind == "block":
                break
            texts.append({"(": ")", "[": "]", "init": "}"}[item.kind])
        else:
            if item[0] == ";":
                break
            texts.append(item[0])
    return texts[::-1]


def _is_block(parent):
    statement = _last_texts(parent.items)
    if not statement:
        return parent.kind in ("block", "file")
    before = statement[-1]
    if before in _BLOCK_BEFORE or statement[0] in _BLOCK_HEADS:
        return True
    if before == ":" and "?" not in statement and ")" not in statement:
        return True  # a label
    # A trailing return type: ) -> some::type<T> {
    return "->" in statement and ")" in statement[: statement.index("->")] and before not in {"(", ",", "="} and (
        statement[statement.index("->") - 1] in {")", "mutable", "noexcept", "const"}
    )


def parse(code):
    root = Node("file", 0)
    stack = [root]
    # Preprocessor lines have brackets of their own that need not match the code's.
    code = re.sub(r"(?m)^[ \t]*#(?:[^\n\\]|\\.|\\\n)*", lambda m: re.sub(r"[^\n]", " ", m.group()), code)
    for match in _TOKEN.finditer(code):
        text = match.group()
        top = stack[-1]
        if text in _OPEN:
            kind = text if text != "{" else ("block" if _is_block(top) else "init")
            node = Node(kind, match.start())
            top.items.append(node)
            stack.append(node)
        elif text in ")]}":
            if len(stack) > 1:
                stack.pop()
        else:
            top.items.append((text, match.start()))
    return root


def statements(node):
    """Every statement under the node, as a list of items; lambda bodies inside one come out separately as well."""
    if node.kind in ("block", "file"):
        current = []
        for i, item in enumerate(node.items):
            current.append(item)
            if isinstance(item, Node):
                ends = item.kind == "block" and not _continues(node.items, i)
            else:
                ends = item[0] == ";"
            if ends:
                yield current
                current = []
        if current:
            yield current
    for item in node.items:
        if isinstance(item, Node):
            yield from statements(item)


def _continues(items, block_index):
    """Whether the statement goes on after this block, because the block is a lambda's body."""
    return block_index + 1 < len(items) and _lambda_start(items, block_index) is not None


def _lambda_start(items, block_index):
    """The capture bracket of the lambda whose body is items[block_index], if it is a lambda."""
    angles = 0
    for i in range(block_index - 1, -1, -1):
        item = items[i]
        if isinstance(item, Node) and item.kind == "[":
            before = items[i - 1] if i else None
            subscript = (isinstance(before, tuple) and re.match(r"\w", before[0]) and before[0] not in _NOT_A_TYPE) or (
                isinstance(before, Node) and before.kind in ("(", "[")
            )
            return None if subscript else item
        if isinstance(item, Node) and item.kind == "block":
            return None
        if isinstance(item, tuple):
            angles += (item[0] == ">") - (item[0] == "<")
            if item[0] in {";", "="} or (item[0] == "," and angles == 0):
                return None
    return None


def _captures_by_copy(capture):
    parts, current = [], []
    for item in capture.items:
        if isinstance(item, tuple) and item[0] == ",":
            parts.append(current)
            current = []
        else:
            current.append(item)
    parts.append(current)
    names = [p[0][0] for p in parts if p and isinstance(p[0], tuple)]
    return any(name not in ("&", "this") for name in names)


def _contains_co_await(items):
    for item in items:
        if isinstance(item, Node):
            if item.kind != "block" and _contains_co_await(item.items):
                return True
        elif item[0] == "co_await":
            return True
    return False


def _shapes(items, aggregates, top=True):
    for i, item in enumerate(items):
        before = items[i - 1] if i else None
        if not isinstance(item, Node):
            continue
        if item.kind == "block":
            capture = _lambda_start(items, i)
            if capture is not None and _captures_by_copy(capture):
                yield capture.offset, "a lambda that captures by copy is a temporary inside co_await; name it first"
            continue
        if item.kind == "init":
            if before is None or (isinstance(before, tuple) and before[0] in {",", "co_await"}):
                yield item.offset, "a braced list inside co_await; name the argument first"
            elif isinstance(before, tuple) and (before[0] == ">" or re.match(r"[A-Za-z_]", before[0])):
                declared = top and _is_declaration(items[:i])
                if not declared and before[0] not in _NOT_A_TYPE:
                    yield item.offset, (
                        f"'{before[0]}{{...}}' may be an aggregate temporary inside co_await; name it first"
                        " (a class with a constructor may stay, written with parentheses)"
                    )
        if item.kind == "(" and isinstance(before, tuple) and before[0] in aggregates:
            if not (top and _is_declaration(items[:i])):
                yield item.offset, f"'{before[0]}(...)' is an aggregate temporary inside co_await; name it first"
        yield from _shapes(item.items, aggregates, top=False)


def _is_declaration(items):
    """Whether `Type name` ends here, so that the brace initialises a named object."""
    if len(items) < 2 or not isinstance(items[-2], tuple):
        return False
    previous = items[-2][0]
    return previous in {">", "&", "*", "&&"} or (
        re.match(r"[A-Za-z_]", previous) is not None and previous not in _NOT_A_TYPE
    )


def _has_constructor(items, name):
    for before, item, after in zip([None, *items], items, items[1:]):
        if isinstance(item, tuple) and item[0] == name and isinstance(after, Node) and after.kind == "(":
            if not (isinstance(before, tuple) and before[0] == "~"):
                return True
    return False


def aggregates_in(root_node):
    """Names of structs that declare no constructor of their own."""
    found = set()

    def visit(node):
        for i, item in enumerate(node.items):
            if not isinstance(item, Node):
                continue
            if item.kind == "block":
                head = []
                for earlier in reversed(node.items[:i]):
                    if isinstance(earlier, Node) or earlier[0] in {";", "}"}:
                        break
                    head.append(earlier[0])
                head = head[::-1]
                if head and head[0] == "struct" and len(head) > 1 and not {":", "<"} & set(head):
                    name = head[1]
                    if not _has_constructor(item.items, name):
                        found.add(name)
            visit(item)

    visit(root_node)
    return found


def check(root):
    parsed = {}
    aggregates = set()
    for file in source_text.files(root):
        code = source_text.code_only((root / file).read_text())
        parsed[file] = (code, parse(code))
        aggregates |= aggregates_in(parsed[file][1])
    for file, (code, tree) in parsed.items():
        if "co_await" not in code:
            continue
        for statement in statements(tree):
            if _contains_co_await(statement):
                for offset, sentence in _shapes(statement, aggregates):
                    yield file, source_text.line_of(code, offset), sentence


if __name__ == "__main__":
    source_text.main(check, "g++ 12 coroutine shapes")
