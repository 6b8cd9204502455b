"""The reward of a program that an operator made from others: its own, and something for what it gained on them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, NamedTuple, get_args

from openmle_env.errors import unknown_name
from openmle_env.graders.rewards.scores import at_least_zero, finite, need_instance

if TYPE_CHECKING:
    from collections.abc import Iterable

Operator = Literal["draft", "improve", "debug", "crossover"]
OperatorPolicy = Literal["base", "gate_parent", "diff_parent"]

OPERATORS: tuple[str, ...] = get_args(Operator)
OPERATOR_POLICIES: tuple[str, ...] = get_args(OperatorPolicy)
GAIN_BONUS = 0.5


class Parent(NamedTuple):
    """A program that another was made from."""

    code: str
    reward: float | None = None
    """Its reward on the same scale as the child's, so one without a bonus; None where it is not known."""


class OperatorReward(NamedTuple):
    """The parts of an operator's reward; ``final`` is ``shaped`` + ``bonus``."""

    shaped: float
    """The program's own reward, after the policy."""
    gain: float
    """By how much that reward, before the policy, exceeds the best parent's; never negative."""
    bonus: float
    final: float


def operator_reward(
    reward: float | None,
    *,
    operator: Operator | str,
    code: str,
    parents: Iterable[Parent] = (),
    policy: OperatorPolicy | str = "base",
    bonus: float = GAIN_BONUS,
) -> OperatorReward:
    """What a program gets that ``operator`` made, by the rule of OpenRSI's released code.

    A draft keeps its reward. Any other program gets nothing at all where its reward is 0 or its code is that of a
    parent (blanks at the ends of lines and empty lines around do not make a difference), so that handing in a good
    parent once more is worth nothing. Otherwise ``bonus`` times its gain is added to what the policy leaves:

    - ``base``: the reward.
    - ``gate_parent``: the reward if it is better than the best parent's, else 0.
    - ``diff_parent``: the gain alone.

    Our own choices: a negative reward is a penalty, and no policy lifts it. Of several parents the best counts. Where
    no parent's reward is known, there is nothing to compare with: no gain, and the reward stays. Blanks do not hide a
    copy.

    Args:
        reward: The program's own reward; None, NaN or infinite counts as 0.
        operator: draft, improve, debug or crossover.
        code: The program.
        parents: None for a draft, one for improve and debug, two for crossover. The best known reward counts.
        policy: One of `OPERATOR_POLICIES`.
        bonus: Factor of the gain, at least 0.

    Raises:
        UsageError: An unknown operator or policy, a bonus that is negative or not finite, or a parent or a reward of
            another type.

    >>> operator_reward(0.75, operator="improve", code="new", parents=[Parent("old", 0.5)])
    OperatorReward(shaped=0.75, gain=0.25, bonus=0.125, final=0.875)
    """
    if operator not in OPERATORS:
        raise unknown_name("operator", operator, OPERATORS)
    if policy not in OPERATOR_POLICIES:
        raise unknown_name("policy of operator rewards", policy, OPERATOR_POLICIES)
    at_least_zero(bonus, "bonus")
    own = finite(reward) or 0.0
    if operator == "draft":
        return OperatorReward(own, 0.0, 0.0, own)
    made_from = list(parents)
    for parent in made_from:
        need_instance(parent, Parent, "A parent is Parent(code, reward).")
    text = _bare(code)
    if own == 0.0 or any(_bare(parent.code) == text for parent in made_from):
        return OperatorReward(min(own, 0.0), 0.0, 0.0, min(own, 0.0))
    known = [value for value in (finite(parent.reward) for parent in made_from) if value is not None]
    gain = max(0.0, own - max(known)) if known else 0.0
    shaped = own
    if known and own > 0 and policy != "base":
        gated = own if gain > 0 else 0.0
        shaped = gated if policy == "gate_parent" else gain
    return OperatorReward(shaped, gain, bonus * gain, shaped + bonus * gain)


def _bare(code: str) -> str:
    return "\n".join(line.rstrip() for line in code.strip("\r\n").splitlines()).strip("\n")
