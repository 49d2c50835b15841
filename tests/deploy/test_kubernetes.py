"""The objects for Kubernetes fit one another, the application, and what dibs asks of a node's end."""

from __future__ import annotations

from typing import Any

import pytest

from tests.deploy.manifests import container, objects, only, pod, seconds

WORKLOADS = ("StatefulSet", "Deployment")


def labels(kind: str) -> set[tuple[str, str]]:
    return set(pod(kind)["metadata"]["labels"].items())


def chosen(selector: dict[str, Any]) -> list[str]:
    """Whose pods a selector means."""
    return [kind for kind in WORKLOADS if set(selector.items()) <= labels(kind)]


def environment(kind: str) -> dict[str, dict[str, Any]]:
    return {each["name"]: each for each in container(kind)["env"]}


@pytest.mark.parametrize("kind", WORKLOADS)
def test_each_workload_selects_its_own_pods_and_no_others(kind: str) -> None:
    assert chosen(only(kind)["spec"]["selector"]["matchLabels"]) == [kind]


def test_the_service_leads_to_the_store_s_pods_and_port() -> None:
    service, store = only("Service"), only("StatefulSet")
    assert chosen(service["spec"]["selector"]) == ["StatefulSet"]
    assert store["spec"]["serviceName"] == service["metadata"]["name"]
    [port], [inside] = service["spec"]["ports"], container("StatefulSet")["ports"]
    assert (port["targetPort"], port["port"]) == (inside["name"], inside["containerPort"])
    told = environment("Deployment")
    assert told["REDIS_HOST"]["value"] == service["metadata"]["name"]
    assert told["REDIS_PORT"]["value"] == str(port["port"])


def test_of_three_nodes_one_may_be_away_on_purpose_and_none_while_a_new_version_comes() -> None:
    spec, budget = only("Deployment")["spec"], only("PodDisruptionBudget")["spec"]
    assert spec["replicas"] == 3
    assert spec["strategy"]["rollingUpdate"] == {"maxSurge": 1, "maxUnavailable": 0}
    assert chosen(budget["selector"]["matchLabels"]) == ["Deployment"]
    assert budget["maxUnavailable"] == 1
    [spread] = pod("Deployment")["spec"]["topologySpreadConstraints"]
    assert chosen(spread["labelSelector"]["matchLabels"]) == ["Deployment"]


def test_there_is_time_to_drain_before_a_node_is_killed() -> None:
    node = container("Deployment")
    *_, drain = node["lifecycle"]["preStop"]["exec"]["command"]
    grace = seconds(environment("Deployment")["NODE_GRACE"]["value"])
    assert float(drain) > grace + 3, "runs that do not listen are given up a few seconds after the grace"
    assert pod("Deployment")["spec"]["terminationGracePeriodSeconds"] > float(drain) + grace


def test_a_probe_waits_longer_than_the_question_it_asks() -> None:
    for probe in ("startupProbe", "livenessProbe", "readinessProbe"):
        told = container("Deployment")[probe]
        assert told["timeoutSeconds"] > 3, "as long as app.ask waits"
        assert told["periodSeconds"] * told["failureThreshold"] >= 20


def test_what_a_node_is_called_by_comes_from_its_pod() -> None:
    told, metadata = environment("Deployment"), pod("Deployment")["metadata"]
    for variable, field, key in [
        ("DIBS_VERSION", "labels", "app.kubernetes.io/version"),
        ("DIBS_LABELS", "annotations", "dibs-labels"),
    ]:
        assert told[variable]["valueFrom"]["fieldRef"]["fieldPath"] == f"metadata.{field}['{key}']"
        assert metadata[field][key]
    version = metadata["labels"]["app.kubernetes.io/version"]
    assert container("Deployment")["image"] == f"dibs-node:{version}"


def test_what_is_taken_from_the_secret_is_in_it() -> None:
    secret = only("Secret")
    for variable, key in {"REDIS_USERNAME": "username", "REDIS_PASSWORD": "password"}.items():
        reference = environment("Deployment")[variable]["valueFrom"]["secretKeyRef"]
        assert reference == {"name": secret["metadata"]["name"], "key": key}
        assert key in secret["stringData"]


@pytest.mark.parametrize("kind", WORKLOADS)
def test_every_volume_that_is_mounted_is_there_and_none_is_there_for_nothing(kind: str) -> None:
    claims = [each["metadata"]["name"] for each in only(kind)["spec"].get("volumeClaimTemplates", [])]
    there = [*claims, *(each["name"] for each in pod(kind)["spec"]["volumes"])]
    assert sorted(there) == sorted(each["name"] for each in container(kind)["volumeMounts"])


def test_the_store_s_settings_and_users_are_where_it_looks_for_them() -> None:
    store, config, secret = container("StatefulSet"), only("ConfigMap"), only("Secret")
    mounts = {each["name"]: each for each in store["volumeMounts"]}
    volumes = {each["name"]: each for each in pod("StatefulSet")["spec"]["volumes"]}
    assert volumes["config"]["configMap"]["name"] == config["metadata"]["name"]
    assert store["args"] == ["valkey-server", mounts["config"]["mountPath"]]
    assert mounts["config"]["subPath"] in config["data"]
    settings = dict(line.split(" ", 1) for line in config["data"]["valkey.conf"].splitlines())
    users = volumes["users"]["secret"]
    assert users["secretName"] == secret["metadata"]["name"]
    assert [each["key"] in secret["stringData"] for each in users["items"]] == [True]
    assert settings["aclfile"] == f"{mounts['users']['mountPath']}/{users['items'][0]['path']}"
    assert settings["dir"] == mounts["data"]["mountPath"]


def test_only_nodes_may_speak_to_the_store_and_nobody_to_nodes() -> None:
    rules = {chosen(each["spec"]["podSelector"]["matchLabels"])[0]: each["spec"] for each in objects("NetworkPolicy")}
    assert rules.keys() == set(WORKLOADS)
    assert rules["Deployment"]["ingress"] == []
    [rule] = rules["StatefulSet"]["ingress"]
    [peer], [port] = rule["from"], rule["ports"]
    assert chosen(peer["podSelector"]["matchLabels"]) == ["Deployment"]
    assert port["port"] == container("StatefulSet")["ports"][0]["containerPort"]
