import type { UserInfo } from "../../../src/staging/server/authentication/user.js";

/** Who may do everything: the API server itself. */
export const SYSTEM_APISERVER: UserInfo = {
  username: "system:apiserver",
  groups: ["system:masters", "system:authenticated"],
};
