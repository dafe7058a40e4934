import type { UserInfo } from "./user.js";

/** The credentials of a connection and a request. */
export interface Credentials {
  /** the Authorization header as sent */
  readonly authorization?: string;
  /** DER of the client certificate of the TLS connection, not verified yet: expiry is judged on every request */
  readonly clientCertificate?: Buffer;
}

export type AuthenticationResult =
  | {
      readonly outcome: "authenticated";
      readonly user: UserInfo /** for the trace: `client certificate CN=…` */;
      readonly how: string;
    }
  /** the request carries an invalid credential: 401 */
  | { readonly outcome: "rejected"; readonly why: string };

/** Never throws for an invalid credential; a request without one is `authenticated` as system:anonymous. */
export interface Authenticator {
  authenticate(credentials: Credentials): Promise<AuthenticationResult>;
  /** For TokenReview: `user` is undefined when no authenticator accepts the token. */
  authenticateToken(
    token: string,
    audiences?: readonly string[],
  ): Promise<{ user?: UserInfo; error?: string; audiences?: readonly string[] }>;
}
