"""What Kubernetes and Compose want of each kind of object, as far as the files of deploy/ use it."""

from __future__ import annotations

import re

from tests.deploy.shape import Shape

NAME = re.compile(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?")
PATH = re.compile(r"(/[\w.-]+)+")
IMAGE = re.compile(r"[a-z-]+(/[a-z-]+)?:\d+(\.\d+)?")
"""A plain name and a version: no host of a registry, and never the latest."""
LABELS: Shape = {"*": re.compile(r"[A-Za-z0-9]([-\w.]{0,61}[A-Za-z0-9])?")}
AMOUNT = re.compile(r"\d+(m|Mi|Gi)")

META: Shape = {"name": NAME, "labels": LABELS}
SELECTOR: Shape = {"matchLabels": LABELS}
EXEC: Shape = {"exec": {"command": [str]}}
PROBE: Shape = {**EXEC, "periodSeconds": int, "timeoutSeconds": int, "failureThreshold?": int}
KEY: Shape = {"name": NAME, "key": str}
ENV: Shape = {
    "name": re.compile(r"[A-Z_]+"),
    "value?": str,
    "valueFrom?": {"secretKeyRef?": KEY, "fieldRef?": {"fieldPath": str}},
}
CONTAINER: Shape = {
    "name": NAME,
    "image": IMAGE,
    "command?": [str],
    "args?": [str],
    "env?": [ENV],
    "ports?": [{"name": NAME, "containerPort": int}],
    "startupProbe": PROBE,
    "livenessProbe": PROBE,
    "readinessProbe": PROBE,
    "lifecycle?": {"preStop": EXEC},
    "resources": {"requests": {"cpu": AMOUNT, "memory": AMOUNT}, "limits": {"memory": AMOUNT}},
    "securityContext": {
        "allowPrivilegeEscalation": {False},
        "readOnlyRootFilesystem": {True},
        "capabilities": {"drop": [{"ALL"}]},
    },
    "volumeMounts": [{"name": NAME, "mountPath": PATH, "subPath?": str, "readOnly?": bool}],
}
VOLUME: Shape = {
    "name": NAME,
    "configMap?": {"name": NAME},
    "secret?": {"secretName": NAME, "defaultMode": int, "items": [{"key": str, "path": str}]},
    "emptyDir?": {"medium": {"Memory"}, "sizeLimit": AMOUNT},
}
POD: Shape = {
    "metadata": {"labels": LABELS, "annotations?": {"*": str}},
    "spec": {
        "automountServiceAccountToken": {False},
        "enableServiceLinks": {False},
        "terminationGracePeriodSeconds": int,
        "securityContext": {
            "runAsNonRoot": {True},
            "runAsUser": int,
            "runAsGroup": int,
            "fsGroup": int,
            "seccompProfile": {"type": {"RuntimeDefault"}},
        },
        "topologySpreadConstraints?": [
            {
                "maxSkew": int,
                "topologyKey": str,
                "whenUnsatisfiable": {"ScheduleAnyway", "DoNotSchedule"},
                "labelSelector": SELECTOR,
            }
        ],
        "containers": [CONTAINER],
        "volumes": [VOLUME],
    },
}
CLAIM: Shape = {
    "metadata": {"name": NAME},
    "spec": {"accessModes": [{"ReadWriteOnce"}], "resources": {"requests": {"storage": AMOUNT}}},
}
PEER: Shape = {"from": [{"podSelector": SELECTOR}], "ports": [{"protocol": {"TCP"}, "port": int}]}

OBJECTS: dict[str, Shape] = {
    "Secret": {"apiVersion": {"v1"}, "type": {"Opaque"}, "stringData": {"*": str}},
    "ConfigMap": {"apiVersion": {"v1"}, "data": {"*": str}},
    "Service": {
        "apiVersion": {"v1"},
        "spec": {
            "clusterIP": {"None"},
            "selector": LABELS,
            "ports": [{"name": NAME, "port": int, "targetPort": NAME}],
        },
    },
    "StatefulSet": {
        "apiVersion": {"apps/v1"},
        "spec": {
            "serviceName": NAME,
            "replicas": int,
            "selector": SELECTOR,
            "template": POD,
            "volumeClaimTemplates": [CLAIM],
        },
    },
    "Deployment": {
        "apiVersion": {"apps/v1"},
        "spec": {
            "replicas": int,
            "selector": SELECTOR,
            "strategy": {"type": {"RollingUpdate"}, "rollingUpdate": {"maxSurge": int, "maxUnavailable": int}},
            "template": POD,
        },
    },
    "PodDisruptionBudget": {"apiVersion": {"policy/v1"}, "spec": {"maxUnavailable": int, "selector": SELECTOR}},
    "NetworkPolicy": {
        "apiVersion": {"networking.k8s.io/v1"},
        "spec": {"podSelector": SELECTOR, "policyTypes": [{"Ingress"}], "ingress": list},
    },
}


def wanted(kind: str) -> Shape:
    """The shape of an object of this kind."""
    return {"kind": {kind}, "metadata": META, **OBJECTS[kind]}


DURATION = re.compile(r"\d+s")
SERVICE: Shape = {
    "image": IMAGE,
    "build?": {"context": str, "dockerfile": str},
    "command": [str],
    "configs?": [{"source": str, "target": PATH}],
    "volumes?": [str],
    "tmpfs?": [str],
    "deploy?": {"replicas": int},
    "depends_on?": {"*": {"condition": {"service_healthy"}}},
    "environment?": {"*": str},
    "healthcheck": {
        "test": [str],
        "interval": DURATION,
        "timeout": DURATION,
        "retries": int,
        "start_period": DURATION,
    },
    "stop_grace_period": DURATION,
    "restart": {"unless-stopped"},
    "read_only?": {True},
    "cap_drop?": [{"ALL"}],
    "security_opt?": [{"no-new-privileges:true"}],
}
COMPOSE: Shape = {
    "name": NAME,
    "services": {"*": SERVICE},
    "configs": {"*": {"content": str}},
    "volumes": {"*": type(None)},
}
