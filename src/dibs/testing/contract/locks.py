"""What every store must do with locks, in both colours: sentences about the product, one test each."""

from __future__ import annotations

from dibs.testing.contract.family import FamilyContract
from dibs.testing.contract.holding import HoldingContract
from dibs.testing.contract.overseeing import OverseeingContract
from dibs.testing.contract.remembering import RememberingContract
from dibs.testing.contract.together import TogetherContract
from dibs.testing.contract.waiting import WaitingContract


class LockContract(
    HoldingContract, WaitingContract, FamilyContract, TogetherContract, OverseeingContract, RememberingContract
):
    """Subclass it and give a `backend` fixture: a store that is empty, and used by this test alone."""
