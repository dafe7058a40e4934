import { rmSync } from "node:fs";
import { test } from "vitest";
import { newHome } from "../support/cli-process.js";
import { suiteNeeding } from "../support/requirements.js";
import { Terminal } from "../support/terminal.js";

suiteNeeding(["tmux"], "a node at a terminal", () => {
  test("keys run a pod, look into it, kill its container and stop the heartbeats and the time; Ctrl-C ends the node in order", async () => {
    const home = newHome();
    await using terminal = new Terminal(["node", "--port", "0"], { home, columns: 120, rows: 50 });
    await terminal.shows(
      /p pod {2}k kill {2}e exec {2}l logs {2}m metrics {2}b heartbeats {2}z pause {2}\. step {2}> \+10 s {2}q quit/,
    );
    terminal.press("k");
    await terminal.shows(/no container runs here\s+Run a pod first: key p\./);
    terminal.press("p");
    await terminal.shows(/default\/pod-1 +Running +api/);
    terminal.press("e");
    await terminal.shows(/OUTPUT\s+pod-1\s+# Kubernetes-managed hosts file/, true);
    terminal.press("l");
    await terminal.shows(/the log of default\/pod-1 app\s+LINE\s+\S/, true);
    terminal.press("m");
    await terminal.shows(/METRIC\s[\s\S]*kubelet_running_pods 1/, true);
    terminal.press("k");
    await terminal.shows(/default\/pod-1 app was killed[\s\S]*ContainerDied default\/pod-1 app/, true);
    terminal.press("b");
    await terminal.shows(/node-1 sends no heartbeats/, true);
    terminal.press("b");
    await terminal.shows(/node-1 sends heartbeats again/, true);
    terminal.press("z");
    await terminal.shows(/the time stands still; in [\d.]+ s kubelet node-1: /, true);
    terminal.press(".");
    await terminal.shows(/[\d.]+ s passed: kubelet node-1: /, true);
    terminal.press("z");
    await terminal.shows(/the time passes again/, true);
    terminal.press("C-c");
    await terminal.shows(/ended with 130\s+icanon/);
    rmSync(home, { recursive: true, force: true });
  });
});
