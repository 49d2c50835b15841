"""What every store must do with locks, in both colours: sentences about the product, one test each."""

from __future__ import annotations

from dibs.testing.contract.family import FamilyContract
from dibs.testing.contract.holding import HoldingContract
from dibs.testing.contract.overseeing import OverseeingContract
from dibs.testing.contract.remembering import RememberingContract
from dibs.testing.contract.together import TogetherContract
from dibs.testing.contract.waiting import HandOverContract, WaitingContract


class QuorumContract(HoldingContract, WaitingContract, FamilyContract, OverseeingContract, RememberingContract):
    """The same for a store of several servers, where no one of them can hand a lock over, or decide about two."""


class LockContract(QuorumContract, HandOverContract, TogetherContract):
    """Subclass it and give a `backend` fixture: a store that is empty, and used by this test alone."""
