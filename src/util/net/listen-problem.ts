import { messageOf } from "../errors.js";

/** Why a server cannot listen, in a few words. @param error Node's */
export function listenProblem(error: unknown): string {
  switch ((error as NodeJS.ErrnoException).code) {
    case "EADDRINUSE":
      return "the port is taken";
    case "EACCES":
      return "this user is not allowed to use the port";
    default:
      return messageOf(error);
  }
}
