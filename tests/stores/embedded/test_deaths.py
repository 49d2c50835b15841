"""Whoever is killed, nobody is left over, and the next use works."""

from __future__ import annotations

import os
import shutil
from contextlib import suppress
from fcntl import LOCK_SH
from pathlib import Path

import pytest

from dibs import StoreUnreachable
from dibs.stores.embedded import lease_server
from dibs.stores.embedded.latch import Latch
from dibs.stores.embedded.location import LOG, USERS
from tests.chaos.stage import Actor, Stage
from tests.stores.embedded.household import Household, SlowServer, all_end, kill, server_of
from tests.stores.embedded.roles import start_slowly, use, use_again


def in_use(house: Household, stage: Stage) -> Actor:
    program = stage.start(use, str(house.folder))
    program.hear("here")
    program.tell("start")
    program.hear("in")
    return program


def test_when_all_users_are_killed_together_the_server_ends_by_itself(house: Household, stage: Stage) -> None:
    programs = [in_use(house, stage) for _ in range(3)]
    everybody = house.members()
    for program in programs:
        program.kill()
    all_end(everybody)


def test_when_the_one_who_started_it_is_killed_the_others_go_on(house: Household, stage: Stage) -> None:
    starter, other = in_use(house, stage), in_use(house, stage)
    server, guardian = house.server(), house.guardian()
    starter.kill()
    lease = lease_server(house.place)
    assert (house.server(), house.guardian()) == (server, guardian)
    lease.close()
    other.tell("leave")
    other.hear("out")
    all_end([server, guardian])


def test_when_the_guardian_is_killed_the_server_goes_too_and_the_next_use_starts_another(
    house: Household, stage: Stage
) -> None:
    program = stage.start(use_again, str(house.folder))
    [server] = program.hear("in")
    kill(house.guardian())
    all_end([server])
    program.tell("again")
    [another, kept] = program.hear("in")
    assert another != server
    assert kept == "$1\r\n1\r\n"
    assert house.servers() == {another}
    program.tell("leave")
    program.ends()


def test_a_use_while_the_server_is_dying_with_its_guardian_gets_the_next_one(house: Household) -> None:
    lease = lease_server(house.place)
    for _ in range(5):
        before, guardian = server_of(lease), house.guardian()
        kill(guardian)  # and no wait for the server
        lease.revive()
        assert house.guardian() != guardian
        all_end([before, guardian])
    lease.close()


def test_when_the_server_is_killed_the_next_use_starts_another(house: Household, stage: Stage) -> None:
    program = stage.start(use_again, str(house.folder))
    [server] = program.hear("in")
    guardian = house.guardian()
    os.kill(server, 9)
    program.tell("again")
    [another, kept] = program.hear("in")
    assert another != server
    assert kept == "$1\r\n1\r\n"
    all_end([server, guardian])
    program.tell("leave")
    program.ends()


def test_when_guardian_and_users_are_killed_nobody_is_left(house: Household, stage: Stage) -> None:
    program = in_use(house, stage)
    everybody, guardian = house.members(), house.guardian()
    program.kill()
    with suppress(ProcessLookupError):  # it may have been quick
        os.kill(guardian, 9)
    all_end(everybody)


def test_a_start_goes_on_when_the_one_who_started_it_is_killed(
    house: Household, stage: Stage, slow: SlowServer
) -> None:
    starter = stage.start(start_slowly, str(house.folder), str(slow.program))
    slow.starts()
    with Latch(house.folder / USERS) as share:
        assert share.take(LOCK_SH)
        starter.kill()
        other = stage.start(use, str(house.folder))
        other.hear("here")
        other.tell("start")
        slow.goes_on()
        [server] = other.hear("in")
    assert house.servers() == {server}
    assert (house.folder / LOG).read_text().count("Ready to accept") == 1


def test_a_start_ends_when_nobody_waits_for_it(house: Household, stage: Stage, slow: SlowServer) -> None:
    starter = stage.start(start_slowly, str(house.folder), str(slow.program))
    slow.starts()
    everybody = house.members()
    assert len(everybody) == 2
    starter.kill()
    all_end(everybody)


def test_a_start_begins_anew_when_its_guardian_is_killed(house: Household, stage: Stage, slow: SlowServer) -> None:
    starter = stage.start(start_slowly, str(house.folder), str(slow.program))
    slow.starts()
    everybody = house.members()
    [guardian] = (pid for pid in everybody if b"guard.py" in Path(f"/proc/{pid}/cmdline").read_bytes())
    kill(guardian)
    all_end(everybody)
    slow.starts()
    slow.goes_on()
    starter.hear("starting")
    starter.hear("in")
    assert house.servers() == {house.server()}


def test_a_server_that_is_killed_whenever_it_starts_is_told(
    house: Household, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = folder.with_name("suicide")
    program.write_text("#!/bin/sh\nkill -9 $$\n")
    program.chmod(0o700)
    monkeypatch.setattr("dibs.stores.embedded.server.valkey_binary", lambda: program)
    with pytest.raises(StoreUnreachable, match="killed whenever it starts"):
        lease_server(house.place)


def test_a_server_whose_folder_is_deleted_ends_so_that_no_two_grant_the_same_locks(house: Household) -> None:
    lease = lease_server(house.place)
    everybody = house.members()
    shutil.rmtree(house.folder)
    all_end(everybody)
    newcomer = lease_server(house.place)
    lease.revive()
    assert server_of(lease) == server_of(newcomer)
    for one in (lease, newcomer):
        one.close()


def test_a_server_whose_folder_is_replaced_ends_as_well(house: Household) -> None:
    lease = lease_server(house.place)
    everybody = house.members()
    house.folder.rename(house.folder.with_name("moved"))
    newcomer = lease_server(house.place)
    all_end(everybody)
    lease.revive()
    assert server_of(lease) == server_of(newcomer)
    for one in (lease, newcomer):
        one.close()
