"""What a test of the flows stands on."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.flows.scripted import Process, Scene


@pytest.fixture
def scene() -> Iterator[Scene]:
    scene = Scene()
    yield scene
    scene.close()


@pytest.fixture
def ann(scene: Scene) -> Process:
    return scene.process("ann")


@pytest.fixture
def bob(scene: Scene) -> Process:
    return scene.process("bob")
