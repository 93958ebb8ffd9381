// Put into every page before its own code: when something is on the screen, and what kept the page busy. Never changes what
// the page does.
window.bench = (() => {
  const ROWS = "main tbody tr"
  const QUIET_MS = 300
  const rows = () => document.querySelectorAll(ROWS).length
  const tasks = []
  const keys = []
  const note = (type, into, length) => {
    const observer = new PerformanceObserver((list) => into.push(...list.getEntries().map(length)))
    observer.observe({ type, durationThreshold: 16 })
  }
  note("longtask", tasks, (task) => task.duration)
  note("event", keys, (event) => (event.name.startsWith("key") || event.name === "input" ? event.duration : 0))

  /** The moment after the next frame: what stands in the document now is on the screen. */
  const painted = () =>
    new Promise((done) =>
      requestAnimationFrame(() => {
        const { port1, port2 } = new MessageChannel()
        port1.onmessage = () => done(performance.now())
        port2.postMessage(0)
      }),
    )

  /** As soon as the page has so many of them. */
  const there = (count, what = rows) =>
    new Promise((done, fail) => {
      const look = () => {
        if (what() < count) return
        observer.disconnect()
        clearTimeout(late)
        done()
      }
      const observer = new MutationObserver(look)
      const late = setTimeout(() => fail(new Error(`${what()} of ${count} rows at ${location.href}`)), 30000)
      observer.observe(document, { childList: true, subtree: true })
      look()
    })

  /** From the first byte of a page that is opened by its address. */
  const opened = there(1).then(painted, () => undefined)

  /** As the router does it: by the menu where the page is in it. */
  const go = async (address, count) => {
    const link = document.querySelector(`nav.menu a[href="${address}"]`)
    const began = performance.now()
    if (link) link.click()
    else history.pushState({}, "", address)
    await there(count)
    const rows = (await painted()) - began
    return { page: rows, complete: Math.max(rows, (await still()) - began) }
  }

  /** When the page last changed before it was quiet for a while: what it asks for besides its rows is there, too. */
  const still = () =>
    new Promise((done) => {
      let last = performance.now()
      let timer = 0
      const wait = () => {
        clearTimeout(timer)
        timer = setTimeout(() => {
          observer.disconnect()
          done(last)
        }, QUIET_MS)
      }
      const observer = new MutationObserver(() => {
        last = performance.now()
        wait()
      })
      observer.observe(document.querySelector("main"), { childList: true, subtree: true })
      wait()
    })

  const call = async (path) => {
    const began = performance.now()
    const answer = await (await fetch(path)).json()
    return [performance.now() - began, answer]
  }

  /** The same rows in the same style sheet, made by nothing but the document. */
  const plainly = async (path, columns) => {
    const began = performance.now()
    const { items } = await (await fetch(path)).json()
    const body = document.createElement("tbody")
    for (const item of items) {
      const row = body.insertRow()
      const values = Object.values(item)
      for (let at = 0; at < columns; at++) row.insertCell().textContent = `${values[at] ?? ""}`.slice(0, 40)
    }
    const place = document.createElement("div")
    place.className = "rows"
    place.append(document.createElement("table"))
    place.firstChild.append(body)
    document.querySelector("main").append(place)
    const took = (await painted()) - began
    place.remove()
    return took
  }

  /** The longest time without a frame, until it is asked for. */
  const frames = () => {
    let last = performance.now()
    let longest = 0
    let stopped = false
    const frame = (now) => {
      longest = Math.max(longest, now - last)
      last = now
      if (!stopped) requestAnimationFrame(frame)
    }
    requestAnimationFrame(frame)
    return () => {
      stopped = true
      return longest
    }
  }

  /** When rows of instances were first painted; given away when asked for. */
  const seen = () => {
    let fresh = []
    let newest = 0
    const look = async () => {
      const ids = [...document.querySelectorAll("main tbody tr a.number")].map((link) => Number(link.textContent))
      const added = ids.filter((id) => id > newest)
      if (added.length === 0) return
      newest = Math.max(...added)
      await painted()
      const now = Date.now()
      for (const id of added) fresh.push([id, now])
    }
    const all = { childList: true, subtree: true, characterData: true }
    new MutationObserver(look).observe(document.querySelector("main"), all)
    return () => fresh.splice(0)
  }

  const longest = (of) => of.splice(0).reduce((most, one) => Math.max(most, one), 0)
  return { rows, go, call, plainly, opened, frames, seen, task: () => longest(tasks), key: () => longest(keys) }
})()
