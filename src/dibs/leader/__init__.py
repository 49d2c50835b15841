"""Leading by turns: each term is a lease on an ordinary lock, and the next candidate stands in its queue."""

from dibs.leader.candidate import Rules
from dibs.leader.term import Term
from dibs.leader.terms import Leader, Terms

__all__ = ["Leader", "Rules", "Term", "Terms"]
