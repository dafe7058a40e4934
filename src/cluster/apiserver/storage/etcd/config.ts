/** How to reach etcd. Upstream's flags are `--etcd-servers`, `--etcd-cafile`, `--etcd-certfile` and `--etcd-keyfile`. */
export interface EtcdConfig {
  /** `http://127.0.0.1:2379`, in the order in which they are tried */
  readonly servers: readonly string[];
  /** path of the CA of etcd's certificates; absent: the CAs that Node trusts */
  readonly caFile?: string;
  /** path of the client's certificate */
  readonly certFile?: string;
  readonly keyFile?: string;
}
