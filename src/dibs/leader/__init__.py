"""Leading by turns: each term is a lease on an ordinary lock, and the next candidate stands in its queue."""

from dibs.leader.term import Term
from dibs.leader.terms import Leader, Leadership, TermOptions, Terms

__all__ = ["Leader", "Leadership", "Term", "TermOptions", "Terms"]
