// An XXL-JOB executor of the Node package xxl-job, told by its environment where it belongs.
// The package keeps its logs under ./logs, so it is started in its log directory.
import { appendFileSync } from 'node:fs'
import { setTimeout as pause } from 'node:timers/promises'
import express from 'express'
import { createXxlJobExecutor } from 'xxl-job'

const told = (name) => {
  if (process.env[name] === undefined) throw new Error(`${name} is not set`)
  return process.env[name]
}

// What really ran, for a judge who does not ask the server: one line, one write, at the end of the file.
function trace(what, handler, run) {
  const param = (run.executorParams ?? '').replace(/\s/g, '_') || '-'
  const shard = `${run.broadcastIndex}/${run.broadcastTotal}`
  appendFileSync(told('PEER_TRACE'), `${what} ${handler} ${param} ${shard} ${Date.now()} job=${run.jobId} log=${run.logId}\n`)
}

// A kill is a flag that a handler may look at.
async function sleep(ms, cut) {
  for (const end = Date.now() + Number(ms); Date.now() < end;) {
    if (cut()) return false
    await pause(Math.min(20, end - Date.now()))
  }
  return true
}

const handlers = {
  ok: async (_, run, param) => `ok:${param}`,
  fail: async () => { throw new Error('wanted') },
  sleep: async (_, run, param) => {
    if (!await sleep(param, run.isKill)) return 'cut short'
    return 'slept'
  },
  stubborn: async (_, run, param) => {
    await sleep(param, () => false)
    return 'slept'
  },
  shard: async (_, run) => `${run.broadcastIndex}/${run.broadcastTotal}`,
  // "n", or "n:ms" for a pause after each line.
  chatty: async (log, run, param) => {
    const [count, ms] = param.split(':')
    for (let line = 1; line <= Number(count); line++) {
      log.info(`line ${line}`)
      if (ms) await pause(Number(ms))
    }
    return 'ok'
  },
}

const traced = (name, handler) => async (log, run, param) => {
  trace('start', name, run)
  try {
    const said = await handler(log, run, param)
    trace(said === 'cut short' ? 'cut' : 'end', name, run)
    return said
  } catch (error) {
    trace('end', name, run)
    throw error
  }
}

const app = express()
app.use(express.json())
app.listen(Number(told('PEER_PORT')), '127.0.0.1', () => {
  const executor = createXxlJobExecutor({
    app,
    appType: 'express',
    jobHandlers: new Map(Object.entries(handlers).map(([name, handler]) => [name, traced(name, handler)])),
    accessToken: told('PEER_TOKEN'),
    baseUrl: `http://127.0.0.1:${told('PEER_PORT')}`,
    executorKey: told('PEER_APP'),
    scheduleCenterUrl: told('PEER_ADMIN'),
    logStorage: 'local',
  })
  executor.initialization()
  process.on('SIGTERM', () => executor.cancel().finally(() => process.exit(0)))
})
