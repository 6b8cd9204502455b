"""An agent without a language model: it composes scikit-learn programs for tables and searches over them."""

from openmle_env.agents.grammar.agent import GrammarAgent

__all__ = ["GrammarAgent"]
