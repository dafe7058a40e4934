import { Option } from "commander";

/** Which images an embedded runtime pulls. */
export function imagesOption(): Option {
  const text = "images that can be pulled; any: an unknown one runs its command if the shell has it, else it waits";
  return new Option("--images <which>", text).choices(["known", "any"]).default("known");
}
