import { createHash } from "node:crypto";
import type { Random } from "../../../util/random.js";

const ID_BYTES = 32;

/**
 * A new ID of a sandbox or container: 64 hexadecimal characters.
 *
 * Mirrors containerd's internal/cri/util (GenerateID).
 * @param isTaken fixed random bytes in a test repeat; then they are hashed with a counter until the ID is new
 */
export function newId(random: Random, isTaken: (id: string) => boolean): string {
  const bytes = random.bytes(ID_BYTES);
  let id = bytes.toString("hex");
  for (let count = 1; isTaken(id); count++) id = createHash("sha256").update(bytes).update(String(count)).digest("hex");
  return id;
}
