"""Programs and JSON objects out of what a model answered. Nothing here raises for what a model wrote."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from openmle_env.policies import fences, objects
from openmle_env.policies.objects import NoObject, extract_json
from openmle_env.policies.protocol import Reply
from openmle_env.policies.source import Facts, Repaired, facts_of, fault_of, is_for_a_shell, repaired
from openmle_env.policies.thinking import split_thinking

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["NoObject", "NoProgram", "Program", "extract_json", "extract_program"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Program:
    """A program that compiles."""

    source: str
    """Python with line ends ``\\n``."""
    origin: Literal["answer", "reasoning"] = "answer"
    """Where it stood."""
    notes: tuple[str, ...] = ()
    """What was chosen, joined or changed, for the record."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NoProgram:
    """Why a reply has no program that may be run."""

    reason: Literal["none", "truncated", "invalid", "ambiguous", "refused", "too_long"]
    """No code; cut at the token limit; does not compile; several programs; a filter; more than can be looked at."""
    message: str
    """The same for whoever asks again: a sentence or two."""
    source: str = ""
    """For ``invalid``: all the code that was there, to be debugged."""
    line: int | None = None
    """For ``invalid``: the line of ``source`` that is to blame, from 1."""


@dataclass(frozen=True, slots=True)
class _Part:
    """A block of Python that compiles."""

    code: Repaired
    facts: Facts

    @property
    def is_whole(self) -> bool:
        return self.facts.acts and not self.facts.needs


def extract_program(reply: Reply | str, *, mention: str = "", drafts: bool = False) -> Program | NoProgram:
    """Find the one program of a reply.

    Blocks of another language are never taken for Python. Of several blocks of Python, those that need one another are
    joined in their order, and exactly one program has to come of it: two alternatives are ``ambiguous``. Where one
    block does not compile, nothing is run, since what is left may be half a program: the reply is ``invalid``. Text
    without a fence counts if all of it compiles and does something. Source is changed only where it does not compile
    as it is (see `openmle_env.policies.source.repaired`), and the notes say so.

    Args:
        reply: What was answered; a plain text is one that ended by itself.
        mention: Text that every whole program has to contain, such as ``submission.csv``. Where exactly one block
            contains it and is whole, that block is the program, whatever stands beside it.
        drafts: Whether the last draft of the reasoning is taken where the answer has no code at all.
    """
    if isinstance(reply, str):
        reply = Reply(text=reply)
    text = _plain_lines(reply.text)
    if len(text) > objects.MAX_CHARACTERS or len(reply.reasoning) > objects.MAX_CHARACTERS:
        return NoProgram(reason="too_long", message=f"The reply has more than {objects.MAX_CHARACTERS:,} characters.")
    thinking = split_thinking(text)
    cut = reply.finish == "length"
    found = _of_answer(thinking.answer, mention, cut=cut)
    if isinstance(found, Program) or found.reason != "none":
        return found
    if cut:
        return NoProgram(
            reason="truncated",
            message="The reply ended at the token limit before its program began: ask for a shorter one, or allow more "
            "tokens.",
        )
    if reply.finish == "refused":
        return NoProgram(reason="refused", message="The reply was withheld by a filter, or the model refused.")
    reasoning = "\n\n".join(part for part in (_plain_lines(reply.reasoning), thinking.reasoning) if part)
    if drafts and reasoning:
        for block in reversed(_python_blocks(reasoning)):
            code = repaired(block.text)
            if code and facts_of(code.source).is_code:
                return _program([code], "the last draft of the reasoning was taken", origin="reasoning")
    return found


def _of_answer(text: str, mention: str, *, cut: bool) -> Program | NoProgram:
    blocks = _python_blocks(text)
    if not blocks:
        code = None if cut or "```" in text else repaired(text)
        if code and facts_of(code.source).is_code:
            return _program([code], "the whole answer is code, without a fence")
        return NoProgram(
            reason="none", message="The reply holds no program: write one complete program in one ```python block."
        )
    if cut and not blocks[-1].closed:
        return NoProgram(
            reason="truncated",
            message="The program was cut at the token limit: ask for a shorter one, or allow more tokens.",
        )
    texts = list(dict.fromkeys(block.text.strip("\n") + "\n" for block in blocks))
    codes = [(text, repaired(text)) for text in texts]
    parts = [_Part(code, facts_of(code.source)) for _, code in codes if code]
    broken = [text for text, code in codes if code is None]
    notes = [] if blocks[-1].closed else ["the last block has no closing fence"]
    if mention and not any(mention in text for text in broken):
        whole = [part for part in parts if part.is_whole and mention in part.code.source]
        if len(whole) == 1:
            notes += [f"the one whole program of {len(codes)} blocks was taken"] * (len(codes) > 1)
            return _program([whole[0].code], *notes)
    if broken:
        return _invalid(texts)
    return _joined(parts, mention, notes)


def _python_blocks(text: str) -> list[fences.Block]:
    """The blocks that hold Python: those that say so, or else those without a language that are code."""
    found = [block for block in fences.blocks(text, lambda source: repaired(source) is not None) if block.text.strip()]
    found = [block for block in found if not is_for_a_shell(block.text)]
    tagged = [block for block in found if block.is_python]
    if tagged:
        return tagged
    plain = [(block, repaired(block.text)) for block in found if not block.language]
    return [block for block, code in plain if code and facts_of(code.source).is_code]


def _joined(parts: Sequence[_Part], mention: str, notes: list[str]) -> Program | NoProgram:
    """One program of blocks that all compile."""
    groups = _groups(parts)
    programs = [group for group in groups if _is_program(group)]
    if mention:
        programs = [group for group in programs if any(mention in part.code.source for part in group)] or programs
    if len(programs) > 1:
        return NoProgram(
            reason="ambiguous",
            message=f"The reply holds {len(programs)} programs that stand alone, and one is wanted: write one complete "
            "program in one ```python block.",
        )
    chosen = programs[0] if programs else parts
    if len(chosen) > 1:
        notes.append(f"{len(chosen)} blocks that need one another were joined")
    if len(chosen) < len(parts):
        notes.append(f"blocks that the program does not need, left out: {len(parts) - len(chosen)}")
    return _program([part.code for part in chosen], *notes)


def _groups(parts: Sequence[_Part]) -> list[list[_Part]]:
    """The blocks, those together that need names of one another, in their order."""
    group_of = list(range(len(parts)))
    for later, part in enumerate(parts):
        for earlier in range(later):
            if part.facts.needs & parts[earlier].facts.binds and group_of[earlier] != group_of[later]:
                old, new = group_of[later], group_of[earlier]
                group_of = [new if group == old else group for group in group_of]
    return [
        [part for part, group in zip(parts, group_of, strict=True) if group == wanted]
        for wanted in dict.fromkeys(group_of)
    ]


def _is_program(group: Sequence[_Part]) -> bool:
    """Whether something happens, with names that are all bound before."""
    bound: set[str] = set()
    for part in group:
        if part.facts.needs - bound:
            return False
        bound |= part.facts.binds
    return any(part.facts.acts for part in group)


def _invalid(texts: Sequence[str]) -> NoProgram:
    source = "\n\n".join(texts)
    if len(texts) > 1:
        where, line = f" in block {next(n for n, text in enumerate(texts, 1) if not repaired(text))}", 0
        for text in texts:
            fault = None if repaired(text) else fault_of(text)
            if fault:
                break
            line += text.count("\n") + 2
    else:
        where, line, fault = "", 0, fault_of(texts[0])
    number = line + fault.line if fault and fault.line else None
    said = f"{fault.message}{f' (line {number})' if number else ''}" if fault else "it cannot be compiled"
    return NoProgram(reason="invalid", message=f"The code{where} does not compile: {said}.", source=source, line=number)


def _program(
    codes: Sequence[Repaired], *notes: str, origin: Literal["answer", "reasoning"] = "answer"
) -> Program | NoProgram:
    source = "\n\n".join(code.source.strip("\n") + "\n" for code in codes)
    fault = fault_of(source)
    if fault:  # each compiles, and together they do not: an import from __future__, say
        return _invalid([source])
    changes = dict.fromkeys(note for code in codes for note in code.notes)
    return Program(source=source, origin=origin, notes=(*notes, *changes))


def _plain_lines(text: str) -> str:
    return text.replace("\r\n", "\n").replace("\r", "\n").removeprefix("\ufeff")
