import { BOOTSTRAP, by, type Chapter, differs, FILE, LEASE } from "./table.js";

const NODES = "kubectl get nodes";
const DESCRIBE = "kubectl describe node fake";
const CSR = "kubectl get csr testcsr -o yaml";
const BINDING_OF_TOKENS = "kubectl get clusterrolebinding kubeadm:kubelet-bootstrap -o yaml";
const ROLE_OF_TOKENS = "kubectl get clusterrole system:node-bootstrapper -o yaml";

/** The course (000), from its environment to its own small kubelet's bootstrap. */
export const COURSE: readonly Chapter[] = [
  {
    title: "environment",
    rows: [
      ["a cluster of v1.26", NODES, /node-1 Ready <none> \S+ v1\.26\.0/],
      [
        "a virtual machine with Docker and kind",
        "kubelab explain kind",
        /A fake node that joins it gets kindnet and kube-proxy/,
        differs("One command is the cluster here, so neither is needed; docs/course.md has the three lines for kind."),
      ],
    ],
  },
  {
    title: "a fake node",
    rows: [
      ["the fake node is Ready, with its own version", NODES, /fake Ready <none> \S+ v1\.24\.0/],
      [
        "kubelet v1.22 in a cluster of v1.26",
        "kubelab explain version skew",
        /a v1\.22 kubelet in a v1\.26 cluster works by luck, and kubelab refuses it/,
        differs("Upstream allows two minor versions, so a v1.24 kubelet stands for the course's."),
      ],
      ["labels of architecture and system", DESCRIBE, /beta\.kubernetes\.io\/arch=\w+ beta\.kubernetes\.io\/os=linux/],
      ["label of the host's name", DESCRIBE, /kubernetes\.io\/hostname=fake/],
      ["annotation ttl", DESCRIBE, /node\.alpha\.kubernetes\.io\/ttl: 0/],
      ["annotation of attach and detach", DESCRIBE, /volumes\.kubernetes\.io\/controller-managed-attach-detach: true/],
      ["Lease: the holder", DESCRIBE, /HolderIdentity: fake/],
      ["Lease: no acquire time", DESCRIBE, /AcquireTime: <unset>/],
      [
        "condition MemoryPressure",
        DESCRIBE,
        /MemoryPressure False .* KubeletHasSufficientMemory kubelet has sufficient/,
      ],
      [
        "condition DiskPressure",
        DESCRIBE,
        /DiskPressure False .* KubeletHasNoDiskPressure kubelet has no disk pressure/,
      ],
      ["condition PIDPressure", DESCRIBE, /PIDPressure False .* KubeletHasSufficientPID kubelet has sufficient PID/],
      [
        "condition Ready",
        DESCRIBE,
        /Ready True .* KubeletReady kubelet is posting ready status/,
        differs("The message ends with AppArmor enabled only on machines that have it."),
      ],
      ["addresses", DESCRIBE, /Addresses: InternalIP: [\d.]+ .*Hostname: fake/],
      ["capacity", DESCRIBE, /Capacity: cpu: 100 .* memory: 32Gi pods: 110/],
      ["allocatable: memory less 100Mi", DESCRIBE, /Allocatable: cpu: 100 .* memory: 32668Mi pods: 110/],
      [
        "ephemeral storage",
        DESCRIBE,
        /ephemeral-storage: 100Gi/,
        differs(
          "The course's kubelet has no cAdvisor and reports 0; here a node has a disk, so that eviction by disk works.",
        ),
      ],
      [
        "the runtime's name",
        DESCRIBE,
        /Container Runtime Version: kubelab:\/\//,
        differs("The embedded runtime has a name of its own, as the course's has jtthink."),
      ],
      ["kube-proxy's version is the kubelet's", DESCRIBE, /Kubelet Version: v1\.24\.0 Kube-Proxy Version: v1\.24\.0/],
      ["PodCIDR", DESCRIBE, /PodCIDR: 10\.244\.\d\.0\/24 PodCIDRs: 10\.244\.\d\.0\/24/],
      [
        "pods kindnet and kube-proxy",
        DESCRIBE,
        /Non-terminated Pods: \(\d in total\)/,
        differs("A cluster has them only with --with-system-pods, so that it starts in half a second."),
      ],
      ["event Starting", DESCRIBE, /Normal Starting \S+ kubelet Starting kubelet\./],
      ["event NodeHasSufficientMemory", DESCRIBE, /NodeHasSufficientMemory .*Node fake status is now: NodeHasSuff/],
      ["event NodeReady", DESCRIBE, /NodeReady \S+ kubelet Node fake status is now: NodeReady/],
      ["event RegisteredNode", LEASE, /Node\/\S+ RegisteredNode: Node \S+ event: Registered Node \S+ in Controller/],
    ],
  },
  {
    title: "heartbeats",
    rows: [
      [
        "a Lease of 40 s in kube-node-lease",
        "kubectl get lease fake -n kube-node-lease -o yaml",
        /leaseDurationSeconds: 40/,
      ],
      ["renewed every 10 s", LEASE, /the next renewal is due in 10 s/, by(FILE.lease, "sync")],
      ["the status at most every 5 min", "kubelab node config", /nodeStatusReportFrequency: 5m0s/],
      [
        "a failed renewal is tried again after 200 ms, at most 7 s later",
        "kubelab explain Lease",
        /\(first sleep\) 200 ms .*maxBackoff 7 s/,
      ],
      ["silent for 40 s: Unknown", LEASE, /Ready True → Unknown/, by(FILE.lifecycle, "tryUpdateNodeHealth")],
      ["the reason NodeStatusUnknown", LEASE, /NodeStatusUnknown: Kubelet stopped posting node status/],
      ["the event NodeNotReady", LEASE, /Node\/node-1 NodeNotReady: Node node-1 status is now: NodeNotReady/],
      [
        "a renewed Lease makes the node Ready",
        LEASE,
        /Ready Unknown → True/,
        by(FILE.lifecycle, "tryUpdateNodeHealth"),
      ],
      [
        "the Lease alone is enough",
        LEASE,
        /still Unknown although its Lease is renewed/,
        differs(
          "The conditions stay Unknown until the kubelet writes its status too, as the course's program also does.",
        ),
      ],
    ],
  },
  {
    title: "TLS bootstrap by hand",
    rows: [
      [
        "a token's Secret",
        "kubectl get secrets -n kube-system",
        /bootstrap-token-\w{6} bootstrap\.kubernetes\.io\/token/,
      ],
      ["the group of tokens", "kubelab token create", /system:bootstrappers:kubeadm:default-node-token/],
      ["what the group may do", "kubelab token create", /may create, get, list, watch certificatesigningrequests/],
      ["the binding's role", BINDING_OF_TOKENS, /kind: ClusterRole name: system:node-bootstrapper/],
      ["the binding's group", BINDING_OF_TOKENS, /name: system:bootstrappers:kubeadm:default-node-token/],
      ["the role's resource", ROLE_OF_TOKENS, /certificates\.k8s\.io resources: - certificatesigningrequests/],
      ["the role's verbs", ROLE_OF_TOKENS, /verbs: - create - get - list - watch/],
      ["the role is kept up to date", ROLE_OF_TOKENS, /rbac\.authorization\.kubernetes\.io\/autoupdate: "true"/],
      ["O is the group", "kubelab csr inspect by-hand.csr", /O \(a group\): "system:nodes"/],
      ["CN is the user", "kubelab csr inspect by-hand.csr", /CN \(the user\): "system:node:by-hand"/],
      [
        "the object around the request",
        "kubelab csr create --node by-hand --name testcsr --signer kube-apiserver-client --prefix by-hand",
        /kind: CertificateSigningRequest metadata: \{name: testcsr\}/,
      ],
      [
        "the request in base64",
        "kubelab csr create --node by-hand --name testcsr --signer kube-apiserver-client --prefix by-hand",
        /request: \$\(base64 -w0 \S+by-hand\.csr\)/,
      ],
      ["the signer", CSR, /signerName: kubernetes\.io\/kube-apiserver-client/],
      ["the usage", CSR, /usages: .*- client auth/],
      ["expirationSeconds", "kubelab explain expirationSeconds", /expirationSeconds/i],
      ["who asked", CSR, /username: kubernetes-admin/],
      ["the groups of who asked", CSR, /groups: - system:masters - system:authenticated/],
      [
        "approval by hand",
        "kubectl certificate approve testcsr",
        /certificatesigningrequest\.certificates\.k8s\.io\/testcsr approved/,
      ],
      ["reason KubectlApprove", CSR, /reason: KubectlApprove status: "True" type: Approved/],
      ["its message", CSR, /message: This CSR was approved by kubectl certificate approve\./],
      [
        "the certificate out of the object",
        "kubelab csr fetch testcsr --prefix by-hand",
        /jsonpath='\{\.status\.certificate\}' \| base64 -d/,
      ],
      ["the certificate's subject", "kubelab csr inspect by-hand.pem", /O=system:nodes, CN=system:node:by-hand/],
      ["a kubeconfig with it works", "kubectl --kubeconfig by-hand.config get nodes", /fake Ready/],
    ],
  },
  {
    title: "the bootstrap of the course's kubelet",
    rows: [
      ["begin bootstrap", BOOTSTRAP, /^yes: bootstrap with a token$/],
      ["a key of its own", BOOTSTRAP, /^Load or generate the private key/, by(FILE.bootstrap, "LoadClientCert")],
      [
        "the request",
        BOOTSTRAP,
        /^Request a certificate for O=system:nodes/,
        by(FILE.bootstrap, "requestNodeCertificate"),
      ],
      [
        "waiting for csr is approved",
        BOOTSTRAP,
        /^Watch CSR \S+ until it is approved and signed$/,
        by("staging/src/k8s.io/client-go/util/certificate/csr/csr.go", "WaitForCertificate"),
      ],
      [
        "approval without a hand",
        BOOTSTRAP,
        /^CSR \S+: approve$/,
        by("pkg/controller/certificates/approver/sarapprove.go", "handle"),
      ],
      ["pem-files have been saved", BOOTSTRAP, /kubelet\.pem: file written$/],
      [
        "writing kubelet-config",
        BOOTSTRAP,
        /^Write \S+\/kubelet\.config$/,
        by(FILE.bootstrap, "writeKubeconfigFromBootstrapping"),
      ],
      ["testing kubeclient", BOOTSTRAP, /^Test the new identity by reading this kubelet's own Node$/],
      ["create node", BOOTSTRAP, /^Register node node-1$/, by(FILE.nodeStatus, "registerWithAPIServer")],
      ["node status update", BOOTSTRAP, /^patch the status of node-1$/, by(FILE.nodeStatus, "tryUpdateNodeStatus")],
      ["starting lease controller", BOOTSTRAP, /^Renew the Lease of node-1$/, by(FILE.lease, "sync")],
    ],
  },
];
