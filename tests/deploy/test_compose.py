"""The services of Compose fit one another, the image, and what Kubernetes is told."""

from __future__ import annotations

from tests.chaos.stage import ROOT
from tests.deploy.manifests import COMPOSE, DEPLOY, container, documents, only, seconds, services


def test_three_nodes_wait_for_a_store_that_answers() -> None:
    node = services()["node"]
    assert node["deploy"]["replicas"] == 3
    assert node["depends_on"] == {"store": {"condition": "service_healthy"}}
    assert node["environment"]["REDIS_HOST"] in services()


def test_there_is_time_to_leave_before_a_node_is_killed() -> None:
    node = services()["node"]
    assert seconds(node["stop_grace_period"]) > seconds(node["environment"]["NODE_GRACE"]) + 3


def test_a_health_check_waits_longer_than_the_question_it_asks() -> None:
    assert seconds(services()["node"]["healthcheck"]["timeout"]) > 3


def test_the_store_has_the_settings_that_it_has_on_kubernetes() -> None:
    [compose] = documents(COMPOSE)
    assert compose["configs"]["valkey.conf"]["content"] == only("ConfigMap")["data"]["valkey.conf"]
    store = services()["store"]
    targets = {each["source"]: each["target"] for each in store["configs"]}
    assert targets.keys() == compose["configs"].keys()
    assert store["command"] == container("StatefulSet")["args"] == ["valkey-server", targets["valkey.conf"]]
    assert f"aclfile {targets['users.acl']}\n" in compose["configs"]["valkey.conf"]["content"]
    assert [volume.partition(":")[0] for volume in store["volumes"]] == list(compose["volumes"])
    assert store["image"] == container("StatefulSet")["image"]
    assert store["healthcheck"]["test"][1:] == container("StatefulSet")["livenessProbe"]["exec"]["command"]


def test_the_password_is_said_by_who_starts_it_and_stands_nowhere() -> None:
    [compose] = documents(COMPOSE)
    assert services()["node"]["environment"]["REDIS_PASSWORD"].startswith("${DIBS_PASSWORD:?")
    assert ">${DIBS_PASSWORD} " in compose["configs"]["users.acl"]["content"]


def test_the_image_is_built_of_files_that_are_there_and_runs_as_the_user_that_is_meant() -> None:
    build, image = services()["node"]["build"], (DEPLOY / "app" / "Dockerfile").read_text("utf-8")
    assert (DEPLOY / build["context"]).resolve() == ROOT
    assert (ROOT / build["dockerfile"]).is_file()
    copied = [line.split()[1:-1] for line in image.splitlines() if line.startswith("COPY ")]
    assert [name for names in copied for name in names if not (ROOT / name).exists()] == []
    assert "USER 10001:10001" in image.splitlines()
    assert services()["node"]["tmpfs"] == ["/run/app:uid=10001,gid=10001,mode=0700"]
