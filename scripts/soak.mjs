// `npm run soak [LIVES]`: ten thousand lives of pods on a fast clock, and what they leave behind (nothing).
import { spawn } from "node:child_process";

const lives = process.argv[2] ?? "10000";
const test = ["vitest", "run", "test/kubelet/scenarios/soak.proof.test.ts", "--maxWorkers=1"];
const child = spawn("npx", test, { stdio: "inherit", env: { ...process.env, KUBELAB_SOAK_LIVES: lives } });
child.once("exit", (code) => {
  process.exitCode = code ?? 1;
});
