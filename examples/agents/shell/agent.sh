#!/bin/sh
# A node agent with sh, curl and base64: a start that passes level 1 of `kubelab grade`.
#
# kubelab grade -- sh agent.sh {kubeconfig} {node} {dir}
#
# It registers a Node, reports its conditions and keeps its Lease. It runs no pods yet: that is yours to write.
set -u
[ $# -eq 3 ] || { echo "usage: agent.sh KUBECONFIG NODE DIR" >&2; exit 2; }
kubeconfig=$1 node=$2 dir=$3
leases=/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases
trap 'exit 0' TERM

# The kubeconfig holds its certificates itself, in base64.
field() { sed -n "s/^ *$1: *\"\{0,1\}\([^\"]*\)\"\{0,1\}$/\1/p" "$kubeconfig" | head -n 1; }
umask 077
server=$(field server)
field certificate-authority-data | base64 -d > "$dir/ca.crt"
field client-certificate-data | base64 -d > "$dir/client.crt"
field client-key-data | base64 -d > "$dir/client.key"

# The cluster's clock if KUBELAB_TIME names it, otherwise this machine's.
pause() { # MILLISECONDS
  if [ -n "${KUBELAB_TIME:-}" ]; then curl -s "$KUBELAB_TIME/sleep?ms=$1" > /dev/null & wait $!
  else sleep "$(($1 / 1000)).$(printf %03d $(($1 % 1000)))" & wait $!; fi
}
now() {
  if [ -n "${KUBELAB_TIME:-}" ]; then
    ms=$(curl -s "$KUBELAB_TIME/now" | sed 's/.*"nowMs":\([0-9]*\).*/\1/')
    date -u -d "@$((ms / 1000))" +%Y-%m-%dT%H:%M:%S
  else date -u +%Y-%m-%dT%H:%M:%S; fi
}

# METHOD PATH [BODY]: sets $status, 000 without an answer; the object is in $dir/answer.
ask() {
  [ $# -eq 3 ] && set -- "$@" || set -- "$1" "$2" ""
  status=$(curl -s -o "$dir/answer" -w '%{http_code}' --max-time 30 \
    --cacert "$dir/ca.crt" --cert "$dir/client.crt" --key "$dir/client.key" \
    -X "$1" -H 'Content-Type: application/json' ${3:+--data "$3"} "$server$2")
}
# The first value of a field in the answer: enough for uid and resourceVersion.
value() { tr ',' '\n' < "$dir/answer" | sed -n "s/.*\"$1\": *\"\([^\"]*\)\".*/\1/p" | head -n 1; }

condition() { # TYPE STATUS REASON
  printf '{"type":"%s","status":"%s","reason":"%s","message":"reported by agent.sh","lastHeartbeatTime":"%s","lastTransitionTime":"%s"}' \
    "$1" "$2" "$3" "$time" "$time"
}

node_object() {
  time=$(now)Z
  case $(uname -m) in x86_64) arch=amd64 ;; aarch64) arch=arm64 ;; *) arch=$(uname -m) ;; esac
  resources='{"cpu":"2","memory":"2Gi","pods":"110"}'
  cat <<OBJECT
{"apiVersion":"v1","kind":"Node",
 "metadata":{"name":"$node","labels":{"kubernetes.io/hostname":"$node","kubernetes.io/os":"linux","kubernetes.io/arch":"$arch"}},
 "status":{"capacity":$resources,"allocatable":$resources,
  "addresses":[{"type":"InternalIP","address":"127.0.0.1"},{"type":"Hostname","address":"$node"}],
  "nodeInfo":{"machineID":"$node","systemUUID":"$node","bootID":"$node","kernelVersion":"$(uname -r)","osImage":"$(uname -s)",
   "containerRuntimeVersion":"none://0","kubeletVersion":"v1.25.0-agent.sh","kubeProxyVersion":"v1.25.0",
   "operatingSystem":"linux","architecture":"$arch"},
  "conditions":[$(condition MemoryPressure False KubeletHasSufficientMemory),
   $(condition DiskPressure False KubeletHasNoDiskPressure),
   $(condition PIDPressure False KubeletHasSufficientPID),
   $(condition Ready True KubeletReady)]}}
OBJECT
}

lease_object() { # [RESOURCEVERSION]
  version=${1:+\"resourceVersion\":\"$1\",}
  cat <<OBJECT
{"apiVersion":"coordination.k8s.io/v1","kind":"Lease",
 "metadata":{$version"name":"$node","namespace":"kube-node-lease",
  "ownerReferences":[{"apiVersion":"v1","kind":"Node","name":"$node","uid":"$uid"}]},
 "spec":{"holderIdentity":"$node","leaseDurationSeconds":40,"renewTime":"$(now).000000Z"}}
OBJECT
}

# Waits twice as long after each failure, up to 7 s.
back_off() {
  echo "$1: $status $(value message)" >&2
  pause "$wait_ms"
  wait_ms=$((wait_ms * 2 > 7000 ? 7000 : wait_ms * 2))
}

# Creates the Node, or finds the one of an earlier run.
wait_ms=100
while :; do
  ask POST /api/v1/nodes "$(node_object)"
  [ "$status" = 409 ] && ask GET "/api/v1/nodes/$node"
  case $status in 200 | 201) break ;; esac
  back_off "cannot register"
done
uid=$(value uid)
echo "Node $node is registered" >&2

# The heartbeat: reads the Lease for its version, then updates or creates it. The pause begins before that, since it takes a while.
while :; do
  pause 10000 &
  timer=$!
  wait_ms=100
  while :; do
    ask GET "$leases/$node"
    case $status in
      200) ask PUT "$leases/$node" "$(lease_object "$(value resourceVersion)")" ;;
      404) ask POST "$leases" "$(lease_object)" ;;
    esac
    case $status in 200 | 201) break ;; esac
    back_off "cannot renew the Lease"
  done
  wait "$timer"
done
