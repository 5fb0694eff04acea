// Opens every page of the console in Chromium, at two widths, light and dark, and prints what is wrong with it:
// faults of accessibility that axe finds, violations of the content security policy, requests to other hosts,
// errors of scripts, a page wider than the window, what the keyboard does not reach, content that is not inert.
// It writes a picture of each. The arguments are the gateway, a folder for the pictures, and Chromium.
import {readFileSync} from 'node:fs'
import {createRequire} from 'node:module'
import {join} from 'node:path'
import puppeteer from 'puppeteer-core'

const [gateway, folder, chromium] = process.argv.slice(2)
const token = process.env.SATCHEL_TOKEN
const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')

async function post(path, body) {
  const res = await fetch(gateway + path, {method: 'POST', body: JSON.stringify(body),
    headers: {Authorization: `Bearer ${token}`, 'Content-Type': 'application/json'}})
  if (!res.ok) throw new Error(`POST ${path}: ${res.status} ${await res.text()}`)
  return res.json()
}

// What an attacker would store: each sets window.broken, or calls home, if it is not inert.
const hostile = [
  '<script>window.broken = 1</script> The kiln is fired on Tuesdays.',
  '<img src="http://foreign.test/kiln.png" onerror="window.broken = 2"> The kiln costs 40 euros.',
  '"><svg onload="window.broken = 3"> Mara fires the kiln.',
  'The kiln \u202Eyadsruht no derif si\u202C has a lock\u200B; \u05E9\u05DC\u05D5\u05DD \u05D4\u05DB\u05D1\u05E9\u05DF.',
  '</td></table><style>*{display:none}</style><base href="http://foreign.test/"> The kiln has two doors.',
  '{{.Secret}} javascript:window.broken=4 [kiln](javascript:window.broken=5) ' + 'kiln'.repeat(400),
]

// paths stores items, asks twice and erases one item. It returns the paths of the pages, by name.
async function paths() {
  const items = []
  for (const content of hostile) {
    items.push(await post('/v1/memories', {content, speaker: '<b onclick="window.broken=6">Mara</b>', category: '"><i>'}))
  }
  const ask = text => post('/v1/context', {payload: {query: {text}, token_budget: 400, session: '<u>kiln</u>'}})
  const [a, b] = [await ask('when is the kiln fired?'), await ask('<script>window.broken = 7</script> what does the kiln cost?')]
  const [first, second] = [a.payload.pack_id, b.payload.pack_id]
  const shown = a.payload.results[0].id, left = a.payload.drop_report.drops[0]?.item_id ?? shown
  const gone = await post('/v1/memories', {content: '<script>window.broken = 8</script> It goes.'})
  await post('/v1/forget', {items: [gone.item], reason: '<b>asked for</b>'})
  return {
    overview: '', ask: 'ask', packs: 'packs', pack: `packs/${first}`, debug: `packs/${first}/debug`,
    shown: `packs/${first}/items/${shown}`, left: `packs/${first}/items/${left}`, diff: `diff?a=${first}&b=${second}`,
    write: `write?id=${items[0].id}`, erasures: 'erasures', ledger: 'ledger', verify: `verify?pack=${first}`,
    error: 'packs/none', lost: 'nowhere',
  }
}

// keyboard walks with the Tab key and returns what it should have reached, or where the focus does not show.
async function keyboard(page) {
  const all = await page.evaluate(() => {
    window.toReach = new Set([...document.querySelectorAll('a[href], button, input:not([type=hidden]), summary, [tabindex="0"]')]
      .filter(e => e.checkVisibility() && !e.disabled))
    document.activeElement.blur()
    return window.toReach.size
  })
  const unseen = new Set()
  for (let i = 0; i < all + 2; i++) {
    await page.keyboard.press('Tab')
    const at = await page.evaluate(() => {
      const e = document.activeElement
      window.toReach.delete(e)
      const box = e.getBoundingClientRect()
      const inside = box.width > 0 && box.right > 0 && box.bottom > 0 && box.top < innerHeight
      return e === document.body || inside && getComputedStyle(e).outlineStyle !== 'none' ? '' : e.outerHTML.slice(0, 80)
    })
    if (at) unseen.add(at)
  }
  const missed = await page.evaluate(() => [...window.toReach].map(e => e.outerHTML.slice(0, 80)))
  return [...missed.map(e => `the keyboard does not reach ${e}`), ...[...unseen].map(e => `the focus does not show on ${e}`)]
}

// watch notes in faults what a page does that it may not.
async function watch(page, faults) {
  await page.evaluateOnNewDocument(() => {
    window.violations = []
    addEventListener('securitypolicyviolation', e => window.violations.push(`${e.violatedDirective} ${e.blockedURI}`))
  })
  page.on('request', r => { if (new URL(r.url()).origin !== gateway) faults.push(`a request to ${r.url()}`) })
  page.on('pageerror', e => faults.push(`an error: ${e.message}`))
  page.on('dialog', async d => { faults.push(`a dialog: ${d.message()}`); await d.dismiss() })
}

async function look(page, name, faults) {
  const found = await page.evaluate(async source => {
    (0, eval)(source) // the debugger runs it; the policy of the page stays as it is
    const {violations} = await axe.run(document, {resultTypes: ['violations']})
    const all = violations.map(v => `axe ${v.id}: ${v.help}: ${v.nodes[0].html.slice(0, 160)}`)
    for (const v of window.violations) all.push(`a violation of the policy: ${v}`)
    if (window.broken) all.push(`content ran: ${window.broken}`)
    const wide = document.scrollingElement.scrollWidth
    if (wide > innerWidth) all.push(`the page is ${wide} pixels wide`)
    if (!document.querySelector('h1')) all.push('there is no heading')
    return all
  }, axe)
  faults.push(...found, ...await keyboard(page))
}

const browser = await puppeteer.launch({executablePath: chromium, args: ['--no-sandbox', '--disable-gpu']})
let looked = 0, wrong = 0
try {
  const pages = Object.entries(await paths())
  for (const width of [360, 1280]) for (const scheme of ['light', 'dark']) {
    const context = await browser.createBrowserContext(), page = await context.newPage()
    const faults = []
    await watch(page, faults)
    await page.setViewport({width, height: 800})
    await page.emulateMediaFeatures([{name: 'prefers-color-scheme', value: scheme}])
    const link = await post('/console/link')
    const visit = async (name, go) => {
      const reply = await go(), want = name === 'error' || name === 'lost' ? 404 : 200
      if (reply.status() !== want) faults.push(`the status is ${reply.status()}`)
      if (name === 'verify') await page.waitForSelector('.good', {timeout: 10_000}).catch(e => faults.push(e.message))
      await page.screenshot({path: join(folder, `${name}-${width}-${scheme}.png`), fullPage: true})
      await look(page, name, faults)
      looked++
      for (const fault of faults.splice(0)) { wrong++; console.log(`${name}, ${width} pixels, ${scheme}: ${fault}`) }
    }
    await visit('enter', () => page.goto(gateway + link.path))
    await Promise.all([page.waitForNavigation(), page.click('main button.main')])
    for (const [name, path] of pages) {
      const wait = name === 'ledger' ? 'domcontentloaded' : 'networkidle0'
      await visit(name, () => page.goto(`${gateway}/console/${path}`, {waitUntil: wait}))
    }
    await page.goto(`${gateway}/console/`)
    await visit('gone', async () => (await Promise.all([page.waitForNavigation(), page.click('.who button')]))[0])
    await context.close()
  }
} finally {
  await browser.close()
}
console.log(`${looked} pages, ${wrong} faults`)
process.exitCode = wrong ? 1 : 0
