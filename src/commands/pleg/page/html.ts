/** The page: what PLEG knows beside what the runtime has, buttons, and the trace as it comes. */
export const PAGE_HTML = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>kubelab pleg</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="/page.css">
<script src="/page.js" defer></script>
</head>
<body>
<header>
<h1>PLEG</h1>
<p id="runtime">connecting</p>
<p id="health" role="status"></p>
</header>
<main>
<section aria-labelledby="pods-title">
<h2 id="pods-title">Pods</h2>
<table id="pods">
<thead><tr><th>container</th><th>runtime has</th><th>PLEG knows</th><th>do to it</th></tr></thead>
</table>
<p id="counts"></p>
<div id="whole" class="buttons"></div>
<p id="faults" role="status"></p>
</section>
<section aria-labelledby="trace-title">
<h2 id="trace-title">What happens, newest first</h2>
<ol id="facts" aria-live="polite"></ol>
</section>
</main>
</body>
</html>
`;
