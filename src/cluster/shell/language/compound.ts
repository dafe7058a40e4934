import { holds } from "./conditional.js";
import { evaluate } from "./expansion/arithmetic.js";
import { arithmeticContext, expandPieces, expandText, expandWord } from "./expansion/expand.js";
import { matches } from "./expansion/patterns.js";
import type { Shell } from "./shell.js";
import { Leave, ShellError } from "./state.js";
import type {
  CaseNode,
  CommandNode,
  CStyleForNode,
  ForNode,
  IfNode,
  StatementNode,
  UntilNode,
  WhileNode,
} from "./syntax/ast.js";

type CompoundNode = Exclude<CommandNode, { type: "SimpleCommand" | "FunctionDef" }>;

/** Runs `if`, `while`, `for`, `case`, a group or a subshell, after its redirections. */
export async function runCompound(node: CompoundNode, shell: Shell): Promise<number> {
  switch (node.type) {
    case "If":
      return runIf(node, shell);
    case "While":
    case "Until":
      return runWhile(node, shell);
    case "For":
      return runFor(node, shell);
    case "CStyleFor":
      return runArithmeticFor(node, shell);
    case "Case":
      return runCase(node, shell);
    case "Group":
      return shell.runAll(node.body);
    case "Subshell": {
      const group = shell.jobControl === undefined ? {} : ({ group: "new" } as const);
      const child = shell.fork((child) => child.runAll(node.body), group);
      return (await shell.waitFor([child]))[0] ?? 0;
    }
    case "ArithmeticCommand":
      return Number((await evaluate(node.expression.expression, arithmeticContext(shell))) === 0n);
    case "ConditionalCommand":
      return Number(!(await holds(node.expression, shell)));
  }
}

async function condition(statements: readonly StatementNode[], shell: Shell): Promise<boolean> {
  return (await shell.guarded(() => shell.runAll(statements))) === 0;
}

async function runIf(node: IfNode, shell: Shell): Promise<number> {
  for (const clause of node.clauses) {
    if (await condition(clause.condition, shell)) return shell.runAll(clause.body);
  }
  if (node.elseBody !== null) return shell.runAll(node.elseBody);
  shell.state.lastStatus = 0;
  return 0;
}

async function runWhile(node: WhileNode | UntilNode, shell: Shell): Promise<number> {
  let status = 0;
  await loop(
    shell,
    async () => (await condition(node.condition, shell)) === (node.type === "While"),
    async () => {
      status = await shell.runAll(node.body);
    },
  );
  return status;
}

async function runFor(node: ForNode, shell: Shell): Promise<number> {
  const values: string[] = [];
  if (node.words === null) values.push(...shell.state.parameters);
  else for (const word of node.words) for (const value of await expandWord(word, shell)) values.push(value);
  let at = 0;
  let status = 0;
  return shell.holding(values, async () => {
    await loop(
      shell,
      async () => at < values.length,
      async () => {
        if (!shell.state.set(node.variable, values[at++] as string))
          throw new ShellError(`${node.variable}: is read only`);
        status = await shell.runAll(node.body);
      },
    );
    return status;
  });
}

async function runArithmeticFor(node: CStyleForNode, shell: Shell): Promise<number> {
  const value = async (expression: CStyleForNode["init"]) =>
    expression === null ? 1n : evaluate(expression.expression, arithmeticContext(shell));
  let status = 0;
  await value(node.init);
  await loop(
    shell,
    async () => (await value(node.condition)) !== 0n,
    async () => {
      status = await shell.runAll(node.body);
    },
    async () => {
      await value(node.update);
    },
  );
  return status;
}

async function loop(
  shell: Shell,
  goesOn: () => Promise<boolean>,
  body: () => Promise<void>,
  after: () => Promise<void> = async () => {},
): Promise<void> {
  shell.state.loopDepth++;
  try {
    for (;;) {
      if (shell.signal.aborted) throw shell.signal.reason;
      const others = shell.self.turn();
      if (others !== undefined) await others;
      if (!(await turn(shell, goesOn, body))) return;
      await after();
    }
  } finally {
    shell.state.loopDepth--;
  }
}

/** @returns whether the loop continues */
async function turn(shell: Shell, goesOn: () => Promise<boolean>, body: () => Promise<void>): Promise<boolean> {
  try {
    if (!(await goesOn())) return false;
    await body();
    return true;
  } catch (error) {
    if (!(error instanceof Leave) || (error.how !== "break" && error.how !== "continue")) throw error;
    if (error.count > 1 && shell.state.loopDepth > 1) throw new Leave(error.how, error.count - 1);
    shell.state.lastStatus = 0;
    return error.how === "continue";
  }
}

async function runCase(node: CaseNode, shell: Shell): Promise<number> {
  const word = await expandText(node.word, shell);
  let status = 0;
  let fallsThrough = false;
  for (const item of node.items) {
    let isMatch = fallsThrough;
    for (const pattern of item.patterns)
      isMatch ||= await matches(word, await expandPieces(pattern, shell), shell.self.turn);
    if (!isMatch) continue;
    status = await shell.runAll(item.body);
    if (item.terminator === ";;") return status;
    fallsThrough = item.terminator === ";&";
  }
  return status;
}
