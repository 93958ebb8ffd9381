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

  /** No row is lower than this: so many fill the window, whatever else is in it. */
  const ROW_PX = 33
  const onScreen = (count) => Math.min(count, Math.ceil(innerHeight / ROW_PX))

  /** As the router does it: by the menu where the page is in it. */
  const enter = (address) => {
    const link = document.querySelector(`nav.menu a[href="${address}"]`)
    if (link) link.click()
    else history.pushState({}, "", address)
  }

  /** Until as many of its rows are painted as there is room for, and until all of them and everything else is there. */
  const go = async (address, count) => {
    const began = performance.now()
    enter(address)
    await there(onScreen(count))
    const page = (await painted()) - began
    await there(count)
    return { page, complete: Math.max(page, (await still()) - began) }
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

  /** How the page looks when as many of its rows are there as the window has room for. */
  const looks = () => {
    const page = document.querySelector("main").cloneNode(true)
    for (const row of [...page.querySelectorAll("tbody tr")].slice(onScreen(Number.POSITIVE_INFINITY))) row.remove()
    return page.innerHTML
  }

  /** The call, and then the very same page by nothing but its markup. */
  const plainly = async (path, markup) => {
    const began = performance.now()
    await (await fetch(path)).json()
    const main = document.querySelector("main")
    const page = document.createElement("main")
    page.innerHTML = markup
    main.style.display = "none"
    main.after(page)
    const took = (await painted()) - began
    page.remove()
    main.style.display = ""
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
  return { rows, enter, go, call, looks, plainly, opened, frames, seen, task: () => longest(tasks), key: () => longest(keys) }
})()
