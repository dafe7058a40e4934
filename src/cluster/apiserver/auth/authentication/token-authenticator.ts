import type { UserInfo } from "../../../../staging/server/authentication/user.js";

export type TokenResult =
  | {
      readonly outcome: "authenticated";
      readonly user: UserInfo;
      readonly audiences: readonly string[];
      /** `bootstrap token abcdef` */
      readonly how: string;
    }
  /** not a valid token of this authenticator; another one may accept it. `why` is for the trace, never for the client */
  | { readonly outcome: "unknown"; readonly why?: string }
  /** a token of this authenticator, but invalid */
  | { readonly outcome: "rejected"; readonly why: string };

/** Authenticates users by the token after `Authorization: Bearer`. */
export interface TokenAuthenticator {
  /** @param audiences for which the caller needs the token, never empty */
  authenticateToken(token: string, audiences: readonly string[]): Promise<TokenResult>;
}

/** The elements of both lists, in the order of the first. */
export function commonAudiences(held: readonly string[], wanted: readonly string[]): readonly string[] {
  return held.filter((audience) => wanted.includes(audience));
}
