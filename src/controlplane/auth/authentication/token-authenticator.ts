import type { UserInfo } from "../../../server/authentication/user.js";

export type TokenResult =
  | {
      readonly outcome: "authenticated";
      readonly user: UserInfo;
      readonly audiences: readonly string[];
      /** `bootstrap token abcdef` */
      readonly how: string;
    }
  /** not one of mine, or not a good one: another authenticator may know it. `why` is for the trace, never for the client */
  | { readonly outcome: "unknown"; readonly why?: string }
  /** surely mine, and bad */
  | { readonly outcome: "rejected"; readonly why: string };

/** Knows users by what follows `Authorization: Bearer`. */
export interface TokenAuthenticator {
  /** @param audiences whom the caller wants the token to be meant for, never empty */
  authenticateToken(token: string, audiences: readonly string[]): Promise<TokenResult>;
}

/** What both lists hold, in the order of the first. */
export function commonAudiences(held: readonly string[], wanted: readonly string[]): readonly string[] {
  return held.filter((audience) => wanted.includes(audience));
}
