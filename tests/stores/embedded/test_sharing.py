"""One server a folder: the first to come starts it, others share it, the last to leave ends it."""

from __future__ import annotations

import gc
import os
import signal
import stat
import subprocess
import sys
import threading
from fcntl import LOCK_EX

import pytest

from dibs import ClientClosed, StoreUnreachable
from dibs.stores.embedded import Folder, ServerLease, lease_server
from dibs.stores.embedded.binary import valkey_binary
from dibs.stores.embedded.latch import Latch
from dibs.stores.embedded.location import DOOR, GUARD, LOG, SERVER, SOCKET, USERS
from tests.chaos.moments import LONG, so
from tests.chaos.stage import Stage
from tests.stores.embedded.household import Household, all_end, said_by, server_of
from tests.stores.embedded.roles import come_and_go, use


def test_the_first_use_starts_a_server_and_the_last_to_leave_ends_it(house: Household) -> None:
    lease = lease_server(house.place)
    assert said_by(lease.socket_path, "PING") == "+PONG\r\n"
    everybody = house.members()
    assert everybody == {house.server(), house.guardian()}
    lease.close()
    all_end(everybody)
    assert not lease.socket_path.exists()


def test_a_second_program_shares_the_server_and_keeps_it(house: Household, stage: Stage) -> None:
    first, second = (stage.start(use, str(house.folder)) for _ in range(2))
    servers: list[int] = []
    for program in (first, second):
        program.hear("here")
        program.tell("start")
        servers += program.hear("in")
    assert len(set(servers)) == 1
    first.tell("leave")
    first.hear("out")
    assert house.server() == servers[0]
    second.tell("leave")
    second.hear("out")
    all_end(servers)  # while both programs live on
    for program in (first, second):
        program.tell("end")
        program.ends()


def test_eight_programs_that_start_at_once_have_one_server(house: Household, stage: Stage) -> None:
    programs = [stage.start(use, str(house.folder)) for _ in range(8)]
    for program in programs:
        program.hear("here")
    for program in programs:
        program.tell("start")
    servers = {program.hear("in")[0] for program in programs}
    assert servers == house.servers() == {house.server()}
    assert (house.folder / LOG).read_text().count("Ready to accept") == 1


def test_the_server_is_there_for_all_who_come_while_others_leave(house: Household, stage: Stage) -> None:
    one = stage.start(come_and_go, str(house.folder), 24)
    [servers] = one.hear("done")
    assert servers > 1
    one.ends()
    for program in [stage.start(come_and_go, str(house.folder), 10) for _ in range(3)]:
        program.hear("done")
        program.ends()


def test_two_folders_have_two_servers(house: Household) -> None:
    other = Household(house.folder.with_name("other"))
    one, two = lease_server(house.place), lease_server(other.place)
    assert server_of(one) != server_of(two)
    one.close()
    house.ends()
    assert server_of(two) == other.server()
    two.close()
    other.ends()


def test_each_lease_of_a_program_counts(house: Household) -> None:
    one, two = lease_server(house.place), lease_server(house.place)
    assert one.socket_path == two.socket_path
    one.close()
    one.close()
    assert server_of(two)
    two.close()


def test_a_forgotten_lease_keeps_no_server(house: Household) -> None:
    lease = lease_server(house.place)
    everybody = house.members()
    del lease
    gc.collect()
    all_end(everybody)


def test_what_is_written_outlives_the_server(house: Household) -> None:
    lease = lease_server(house.place)
    assert said_by(lease.socket_path, "SET kept 1 EX 1000") == "+OK\r\n"
    lease.close()
    house.ends()
    lease = lease_server(house.place)
    assert said_by(lease.socket_path, "GET kept") == "$1\r\n1\r\n"
    assert said_by(lease.socket_path, "TTL kept") in {":999\r\n", ":1000\r\n"}
    lease.close()


def test_nobody_else_can_reach_the_server(house: Household) -> None:
    lease = lease_server(house.place)
    assert stat.S_IMODE(house.folder.stat().st_mode) == 0o700
    assert stat.S_IMODE(lease.socket_path.stat().st_mode) == 0o700
    for entry in house.folder.rglob("*"):
        assert not entry.stat().st_mode & 0o077, entry
    assert said_by(lease.socket_path, "CONFIG GET port") == "*2\r\n$4\r\nport\r\n$1\r\n0\r\n"
    assert "noeviction" in said_by(lease.socket_path, "CONFIG GET maxmemory-policy")
    lease.close()


def test_a_closed_lease_cannot_be_revived(house: Household) -> None:
    lease = lease_server(house.place)
    lease.close()
    with pytest.raises(ClientClosed, match="embedded Valkey"):
        lease.revive()
    assert repr(lease) == f"<ServerLease valkey+embedded:///{house.folder} closed>"


def test_a_folder_that_is_gone_has_newcomers_get_another_server(house: Household) -> None:
    lease = lease_server(house.place)
    before, everybody = server_of(lease), house.members()
    house.folder.rename(house.folder.with_name("gone"))
    another = lease_server(house.place)
    assert server_of(another) != before
    lease.close()
    all_end(everybody)
    assert server_of(another) == house.server()  # who came to its end did not take this one along
    another.close()


def test_a_folder_can_be_known_by_another_path(house: Household) -> None:
    lease, renamed = lease_server(house.place), house.folder.with_name("renamed")
    house.folder.rename(renamed)
    another = lease_server(Folder(renamed))
    assert another.socket_path == renamed / SOCKET
    assert server_of(another) == house.servers().pop()
    another.close()
    lease.close()


def test_a_server_that_does_not_answer_is_told_in_time_and_killed_in_the_end(house: Household) -> None:
    lease = lease_server(house.place)
    everybody = house.members()
    os.kill(house.server(), signal.SIGSTOP)
    with pytest.raises(StoreUnreachable, match="stopped or overloaded"):
        lease_server(house.place, within=0.1)
    lease.close()
    all_end(everybody)


def test_who_has_no_time_left_is_told_at_once(house: Household) -> None:
    lease = lease_server(house.place)
    lease_server(house.place).close()  # so its guardian has shut the door behind it
    with pytest.raises(StoreUnreachable, match="no time was left"):
        lease.revive(within=0)
    lease.close()


def test_who_hangs_up_while_the_last_server_ends_starts_no_other(house: Household) -> None:
    house.folder.mkdir(mode=0o700)
    lease, troubles = ServerLease(house.place), list[Exception]()

    def revive() -> None:
        try:
            lease.revive()
        except ClientClosed as error:
            troubles.append(error)

    with Latch(house.folder / USERS) as guardians:
        assert guardians.take(LOCK_EX)
        thread = threading.Thread(target=revive)
        thread.start()
        assert so(lambda: any(one.name == "dibs-latch" for one in threading.enumerate())).wait(LONG), "it waits"
        lease.close()
    thread.join()
    assert [type(trouble) for trouble in troubles] == [ClientClosed]
    assert not (house.folder / LOG).exists(), "no server was ever started"


def test_a_door_that_stays_shut_is_told_in_time(house: Household) -> None:
    house.folder.mkdir(mode=0o700)
    with Latch(house.folder / DOOR) as door:
        assert door.take(LOCK_EX)
        with pytest.raises(StoreUnreachable, match="another process is starting it"):
            lease_server(house.place, within=0.1)
    lease_server(house.place).close()


def test_a_socket_that_was_deleted_is_told_in_time(house: Household) -> None:
    lease = lease_server(house.place)
    lease.socket_path.unlink()
    with pytest.raises(StoreUnreachable, match=r"does not listen at .*end the programs that use it"):
        lease.revive(within=0.1)
    lease.close()


def test_damaged_data_is_told_with_the_fix_and_leaves_nobody_behind(house: Household) -> None:
    lease = lease_server(house.place)
    said_by(lease.socket_path, "SET kept 1")
    lease.close()
    house.ends()
    [written] = house.folder.rglob("*.incr.aof")
    written.write_bytes(b"nonsense\n" * 20)
    with pytest.raises(StoreUnreachable, match="did not start") as told:
        lease_server(house.place)
    assert "Bad file format" in str(told.value)
    assert f"move {house.folder}/appendonlydir away" in str(told.value)
    house.ends()
    (house.folder / "appendonlydir").rename(house.folder / "damaged")
    lease_server(house.place).close()


def test_a_server_without_a_guardian_is_replaced(house: Household) -> None:
    """As one may be left where the kernel does not kill it with its guardian: not on Linux."""
    house.folder.mkdir(mode=0o700)
    path = house.folder / SOCKET
    (house.folder / GUARD).write_text(str(path))
    with Latch(house.folder / SERVER) as mine:
        assert mine.take(LOCK_EX)
        words = [
            str(valkey_binary()),
            "--port",
            "0",
            "--unixsocket",
            str(path),
            "--dir",
            str(house.folder),
            "--save",
            "",
        ]
        stray = subprocess.Popen(words, pass_fds=[mine.fileno()], stdout=subprocess.PIPE, text=True)
    with stray:
        assert stray.stdout is not None
        assert any("Ready to accept" in line for line in stray.stdout)
        lease = lease_server(house.place)
        assert stray.wait(5) == 0
        assert server_of(lease) != stray.pid
        lease.close()


def test_a_python_without_a_program_is_refused(house: Household, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "executable", "")
    with pytest.raises(ValueError, match=r"sys\.executable"):
        lease_server(house.place)


def test_a_program_that_cannot_be_run_is_told(house: Household, monkeypatch: pytest.MonkeyPatch) -> None:
    house.folder.mkdir(mode=0o700)
    broken = house.folder / "broken"
    broken.write_text("not a program")
    broken.chmod(0o700)
    monkeypatch.setattr("dibs.stores.embedded.server.valkey_binary", lambda: broken)
    with pytest.raises(StoreUnreachable, match="Exec format error"):
        lease_server(house.place)
