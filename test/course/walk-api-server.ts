import { BINDING, by, type Chapter, DEPLOYMENT, differs, ETCD, FILE, JOURNEY, REQUEST } from "./table.js";

const STARTS = ["pull the image", "create the container", "start the container", "execute the post start hook"];

/** The walk (001) from the API server's handlers over the scheduler's binding to the kubelet's SyncPod. */
export const API_SERVER: readonly Chapter[] = [
  {
    title: "API server",
    rows: [
      ["TLS and client certificates", REQUEST, /client certificate O=system:masters, CN=kubernetes-admin/],
      [
        "URI to handler to Store",
        REQUEST,
        /^route POST \/api\/v1\/namespaces\/\{namespace\}\/pods to CreateResource of storage pods$/,
        by(FILE.installer, "registerResourceHandlers"),
      ],
      ["Store: what is generic", "kubelab explain Store", /create, update, delete and watch in their order/],
      [
        "CreateStrategy",
        REQUEST,
        /^prepare Pod web$/,
        by("staging/src/k8s.io/apiserver/pkg/registry/rest/create.go", "BeforeCreate"),
      ],
      ["Store.Create", REQUEST, /^pods default\/web: stored resourceVersion \d+$/, by(FILE.store, "Create")],
      [
        "Store.Update",
        REQUEST,
        /^pods default\/web: stored resourceVersion \d+ → resourceVersion/,
        by(FILE.store, "Update"),
      ],
      [
        "includeUninitialized",
        "kubelab explain includeUninitialized",
        /Both are gone since v1\.14/,
        differs("Initializers are gone since v1.14, so Create has no such parameter."),
      ],
      ["storage.Interface", "kubelab explain storage.Interface", /create, get, list, delete, watch, guaranteed update/],
      [
        "the factory: newETCD3Storage",
        ETCD,
        /^newETCD3Storage: a client of etcd at http:\/\/127\.0\.0\.1:\d+$/,
        by("staging/src/k8s.io/apiserver/pkg/storage/storagebackend/factory/factory.go", "Create"),
      ],
      [
        "newETCD2Storage",
        "kubelab explain newETCD2Storage",
        /etcd2 is gone since v1\.13/,
        differs("Support for etcd2 is gone since v1.13, so the factory of v1.25 has one case left."),
      ],
      [
        "etcd's certificate, key and CA",
        "kubelab explain storage.Interface",
        /client of the endpoints, certificates and prefix/,
      ],
    ],
  },
  {
    title: "etcd3 Create",
    rows: [
      [
        "resourceVersion should not be set",
        REQUEST,
        /^resourceVersion of \/registry\/pods\/default\/web is not set: /,
        by(FILE.etcd3, "Create"),
      ],
      ["the key with its prefix", "kubelab explain etcd3.store", /put \/registry before its key/],
      ["ttlOpts", REQUEST, /^no TTL for \/registry\/pods\/default\/web: /, by(FILE.etcd3, "ttlOpts")],
      [
        "TransformToStorage",
        REQUEST,
        /^store the bytes of \/registry\/pods\/default\/web as they are: /,
        by("staging/src/k8s.io/apiserver/pkg/storage/value/encrypt/identity/identity.go", "TransformToStorage"),
      ],
      [
        "Txn If notFound Then OpPut",
        REQUEST,
        /^transaction on \/registry\/pods\/default\/web: revision \d+$/,
        by(FILE.etcd3, "Create"),
      ],
      ["KeyExistsError", "kubelab explain NewKeyExistsError", /if the key does not exist, put it, else AlreadyExists/],
      [
        "the revision becomes the resourceVersion",
        "kubelab explain etcd3.store",
        /revision becomes the resourceVersion/,
      ],
    ],
  },
  {
    title: "scheduler",
    rows: [
      [
        "the scheduler asks for pods again and again",
        JOURNEY,
        /^default\/web goes to node-1$/,
        differs("It watches through an informer since v1.0, and does not poll."),
      ],
      [
        "pods/binding",
        BINDING,
        /pods\/\{name\}\/binding to CreateNamedResource of storage pods\/binding$/,
        by(FILE.installer, "registerResourceHandlers"),
      ],
      [
        "restStorageMap",
        "kubelab explain restStorageMap",
        /from a path's resource \(pods, pods\/binding\) to its storage/,
      ],
      [
        "BindingREST",
        JOURNEY,
        /^assign default\/web to node \S+: /,
        by("pkg/registry/core/pod/storage/storage.go", "BindingREST.Create"),
      ],
    ],
  },
  {
    title: "SyncPod",
    rows: [
      ["compare with what runs", JOURNEY, /^default\/web: create sandbox/, by(FILE.runtime, "computePodActions")],
      [
        "kill what must go",
        DEPLOYMENT,
        /^leave pod default\/nginx-\S+ as it is$/,
        by(FILE.runtime, "computePodActions"),
      ],
      [
        "RunPodSandbox: pause image, resolv.conf, network",
        JOURNEY,
        /^sandbox of default\/web: pause image registry\.k8s\.io\/pause:3\.8; name servers of resolv\.conf: .*; address 10\./,
        by(FILE.cri, "RunPodSandbox"),
      ],
      [
        "the kubelet's part of it",
        JOURNEY,
        /^RunPodSandbox of default\/web with this resolv\.conf: /,
        by(FILE.sandbox, "createPodSandbox"),
      ],
      [
        "dockershim's docker_sandbox.go",
        "kubelab explain docker_sandbox",
        /deprecated in v1\.20 and gone since v1\.24/,
        differs("The runtime does behind CRI what the dockershim did until v1.23."),
      ],
      ["init containers first", "kubelab explain computePodActions", /which init container is next/],
      ...STARTS.map(
        (step, i) =>
          [
            `startContainer, step ${i + 1}`,
            JOURNEY,
            new RegExp(`of default/web: step ${i + 1} of 4, ${step}: `),
            by(FILE.container, "startContainer"),
          ] as const,
      ),
      ["the result goes to the API server", JOURNEY, /PATCH \/api\/v1\/namespaces\/default\/pods\/web\/status → 200/],
      ["kube-proxy's iptables rules of a Service", "kubelab explain kube-proxy", /iptables|Service/],
    ],
  },
];
