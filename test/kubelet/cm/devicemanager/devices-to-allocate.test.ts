import assert from "node:assert/strict";
import { test } from "vitest";
import { devicesToAllocate } from "../../../../src/kubelet/cm/devicemanager/devices-to-allocate.js";

const set = (text: string) => new Set(text.split(" ").filter((one) => one !== ""));

const TABLE = [
  // required, reusable, healthy, in use, the plugin's wish -> chosen, or the error
  [1, "", "a b", "", undefined, "a"],
  [2, "", "a b c", "a", undefined, "b c"],
  [2, "", "a b", "a", undefined, "Requested: 2, Available: 1"],
  [1, "", "", "", undefined, "Requested: 1, Available: 0"],
  [1, "a", "b", "a", "b", "a"],
  [2, "a", "a b c", "a", "c", "a c"],
  [3, "a", "a b", "a", undefined, "Requested: 2, Available: 1"],
  [2, "", "a b c", "", "c", "c a"],
  [2, "", "a b c d", "", "d b c", "d b"],
  [2, "", "a b c", "b", "b c", "c a"],
  [2, "", "a b c", "", "c c", "c a"],
  [1, "a", "", "a", undefined, "a"],
] as const;

for (const [required, reusable, healthy, inUse, wish, want] of TABLE) {
  test(`${required} of [${healthy}], reusable [${reusable}], in use [${inUse}], preferred [${wish ?? ""}]: ${want}`, async () => {
    const chosen = devicesToAllocate({
      resourceName: "example.com/gpu",
      required,
      reusable: set(reusable),
      healthy: set(healthy),
      inUse: set(inUse),
      prefer: async () => (wish === undefined ? undefined : wish.split(" ")),
    });
    if (want.startsWith("Requested")) {
      const message = `requested number of devices unavailable for example.com/gpu. ${want}`;
      await assert.rejects(chosen, { message });
    } else assert.equal((await chosen).devices.join(" "), want);
  });
}
