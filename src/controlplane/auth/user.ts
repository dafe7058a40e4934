/** Who a request comes from. Mirrors user.Info in k8s.io/apiserver/pkg/authentication/user. */
export interface UserInfo {
  /** `system:node:n1`, `system:bootstrap:abcdef`, `system:anonymous` */
  readonly username: string;
  readonly uid?: string;
  readonly groups: readonly string[];
  readonly extra?: Readonly<Record<string, readonly string[]>>;
}

export const ANONYMOUS: UserInfo = { username: "system:anonymous", groups: ["system:unauthenticated"] };
