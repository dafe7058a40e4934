"""Plays streams with the package kubernetes: python-streams.py CASE. Prints what came, as JSON."""

import io
import json
import sys
import tarfile

from kubernetes import client, config, watch
from kubernetes.stream import portforward, stream

config.load_kube_config()
core = client.CoreV1Api()


def call(method, pod, **more):
    return stream(method, pod, "default", stdout=True, stderr=True, **more)


def run(*command, pod="nettool", **more):
    return call(core.connect_get_namespaced_pod_exec, pod, command=list(command), tty=False, **more)


def create():
    """Creates the pods on stdin, and waits until they are ready."""
    for pod in json.load(sys.stdin):
        core.create_namespaced_pod("default", pod)
        for event in watch.Watch().stream(
            core.list_namespaced_pod, "default", field_selector=f"metadata.name={pod['metadata']['name']}"
        ):
            conditions = event["object"].status.conditions or []
            if any(one.type == "Ready" and one.status == "True" for one in conditions):
                break


def exec_output():
    return run("sh", "-c", "for i in $(seq 1 200); do echo line $i; done; echo err >&2", stdin=False)


def exec_lines():
    """One line at a time: each answer is read with a poll before the next line is sent."""
    shell = run("sh", stdin=True, _preload_content=False)
    answers = []
    for number in range(20):
        shell.write_stdin(f"echo out {number}; echo err {number} >&2\n")
        answers.append([shell.readline_stdout(timeout=20), shell.readline_stderr(timeout=20)])
    shell.write_stdin("exit 3\n")
    shell.run_forever(timeout=20)
    return {"answers": answers, "code": shell.returncode}


def copy():
    """A tar archive in through stdin, and out again through stdout, as kubectl cp does it."""
    text = "".join(f"{number}\n" for number in range(5000))
    archive = io.BytesIO()
    with tarfile.open(fileobj=archive, mode="w") as tar:
        entry = tarfile.TarInfo("copied.txt")
        entry.size = len(text)
        tar.addfile(entry, io.BytesIO(text.encode()))
    # This client cannot end stdin, so the archive's length ends it.
    unpack = f"head -c {len(archive.getvalue())} | tar xf - -C /tmp"
    into = run("sh", "-c", unpack, stdin=True, _preload_content=False)
    into.write_stdin(archive.getvalue())
    into.run_forever(timeout=20)
    out = run("tar", "cf", "-", "-C", "/tmp", "copied.txt", stdin=False, _preload_content=False)
    out.run_forever(timeout=20)
    with tarfile.open(fileobj=io.BytesIO(out.read_stdout().encode())) as tar:
        return [into.returncode, out.returncode, tar.extractfile("copied.txt").read().decode() == text]


def attach():
    reads = call(core.connect_get_namespaced_pod_attach, "reads", stdin=True, tty=False, _preload_content=False)
    answers = []
    for number in range(10):
        reads.write_stdin(f"word {number}\n")
        answers.append(reads.readline_stdout(timeout=20))
    reads.close()
    return answers


def forward():
    """Six answers of a server that closes the connection, each to its end."""
    run("sh", "-c", "seq 1 20000 > /usr/share/nginx/html/long.txt", pod="nginx", stdin=False)
    answers = []
    for _ in range(6):
        socket = portforward(core.connect_get_namespaced_pod_portforward, "nginx", "default", ports="80").socket(80)
        socket.settimeout(20)
        socket.sendall(b"GET /long.txt HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
        answer = b""
        while piece := socket.recv(65536):
            answer += piece
        socket.close()
        head, body = answer.split(b"\r\n\r\n", 1)
        answers.append([head.split(b"\r\n")[0].decode(), body.count(b"\n"), body.endswith(b"\n20000\n")])
    return answers


def forward_refused():
    forwarded = portforward(core.connect_get_namespaced_pod_portforward, "nginx", "default", ports="81")
    forwarded.socket(81).settimeout(20)
    return [forwarded.socket(81).recv(1).decode(), "connection refused" in (forwarded.error(81) or "")]


def follow():
    lines = []
    for line in watch.Watch().stream(core.read_namespaced_pod_log, "lines", "default", follow=True):
        lines.append(line)
        if len(lines) == 5:
            return lines


def watched():
    seen = []
    events = watch.Watch()
    for event in events.stream(core.list_namespaced_config_map, "default", timeout_seconds=20):
        name = event["object"].metadata.name
        if not name.startswith("python-"):
            if not seen:
                seen.append("began")
                core.create_namespaced_config_map("default", {"metadata": {"name": "python-1"}})
                core.delete_namespaced_config_map("python-1", "default")
            continue
        seen.append(f"{event['type']} {name}")
        if event["type"] == "DELETED":
            events.stop()
    return seen


CASES = [create, exec_output, exec_lines, copy, attach, forward, forward_refused, follow, watched]
print(json.dumps({case.__name__: case for case in CASES}[sys.argv[1]]()))
