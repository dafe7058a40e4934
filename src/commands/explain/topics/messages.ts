import type { Topic } from "../topic.js";

/** Sentences of logs and conditions, by their beginning. */
export const MESSAGES: readonly Topic[] = [
  {
    name: "PLEG is not healthy",
    also: ["pleg was last seen active", "pleg has yet to be successful"],
    text: "The kubelet's list of all containers has not been completed for the threshold: the runtime hangs, or has so many containers that a list takes that long. While it holds, the sync loop skips its work and the node is not Ready. Look at the runtime first, for example with `crictl ps`.",
    facts: ["plegRelistThreshold", "plegRelistPeriod", "eventedPlegRelistThreshold"],
    see: "kubelab pleg --duration 5s",
    file: "pkg/kubelet/pleg/generic.go",
    labs: ["pleg-not-healthy", "pleg"],
  },
  {
    name: "x509: certificate signed by unknown authority",
    also: ["tls: failed to verify certificate", "x509: certificate"],
    text: "The client does not trust the CA that signed the server's certificate. For `kubectl exec` and `logs` it is the API server that connects to the kubelet: a kubelet without serverTLSBootstrap has a certificate that it signed itself, and with it, its request of the signer kubelet-serving has to be approved by you.",
    facts: ["csrPendingExpiration"],
    see: "kubelab exec nettool -- ls /",
    file: "pkg/kubelet/certificate/kubelet.go",
    labs: ["exec-x509", "exec"],
  },
  {
    name: "x509: certificate has expired or is not yet valid",
    text: "The clock of one side is outside the certificate's time. Check the clock first, then the dates: a kubelet that was off for long could not rotate its certificate, and has to bootstrap again.",
    facts: ["rotationDeadlineMin", "rotationDeadlineMax", "signerBackdate"],
    see: "kubelab bootstrap --keep --cert-duration 10m --speed 60",
    file: "staging/src/k8s.io/client-go/util/certificate/certificate_manager.go",
    labs: ["wrong-clock", "rotation", "asleep"],
  },
  {
    name: "cluster CA found in cluster-info ConfigMap is invalid",
    also: ["none of the public keys", "discovery-token-ca-cert-hash"],
    text: "The hash that the joining node was given is not that of the cluster's CA, so the node refuses to trust what it found: it may talk to the wrong cluster. The hash is SHA-256 over the CA's public key (not over the certificate file).",
    see: "kubelab token create --help",
    file: "cmd/kubeadm/app/discovery/token/token.go",
    labs: ["wrong-ca-hash", "tokens"],
  },
  {
    name: "context deadline exceeded",
    text: "A call had a time limit, and it is over; nothing says whether the other side still works on it. From a kubelet it is most often the runtime that does not answer, or the API server.",
    see: "kubelab pleg --duration 5s",
    file: "pkg/kubelet/cri/remote/remote_runtime.go",
    labs: ["exec-hangs", "pleg-not-healthy"],
  },
  {
    name: "unable to upgrade connection",
    also: ["error dialing backend"],
    text: "exec, attach or port-forward could not get its stream: the API server did not reach the kubelet, the kubelet refused (it knows the user only by the API server's client certificate), or the container is not there.",
    facts: ["execProtocol", "translateStreamCloseWebsocketRequests", "portForwardWebsockets"],
    see: "kubelab exec nettool --frames -- ls /",
    file: "staging/src/k8s.io/apimachinery/pkg/util/proxy/upgradeaware.go",
    labs: ["exec", "streams", "exec-x509"],
  },
  {
    name: "No resources found",
    text: "kubectl's words for an empty list: the request worked. Without -n or -A it looks in one namespace only.",
    see: "kubectl get pods -A",
    file: "staging/src/k8s.io/kubectl/pkg/cmd/get/get.go",
  },
  {
    name: "The connection to the server was refused",
    also: ["connection refused"],
    text: "No process listens at that address and port: the API server does not run, or the kubeconfig has an old address. It is no question of rights, because no request was sent.",
    see: "kubelab cluster status",
    file: "staging/src/k8s.io/kubectl/pkg/cmd/util/helpers.go",
    labs: ["tour", "no-endpoints"],
  },
];
