import { expect, test } from 'bun:test'
import { chooseProxy, isLoopback } from './proxy-choice.ts'

const https_proxy = 'http://proxy.corp:3128'
const choose = (url: string, env: Record<string, string>) => chooseProxy(new URL(url), env)

test('https goes through https_proxy in either spelling, and without it directly', () => {
  expect(choose('https://api.example', { https_proxy })).toBe('http://proxy.corp:3128/')
  expect(choose('https://api.example', { HTTPS_PROXY: 'proxy.corp:3128' })).toBe(
    'http://proxy.corp:3128/',
  )
  expect(choose('https://api.example', {})).toBeUndefined()
})

test('loopback and plain http are direct', () => {
  for (const url of [
    'https://127.0.0.1',
    'https://localhost:8090',
    'https://[::1]',
    'http://a.b',
  ]) {
    expect(choose(url, { https_proxy })).toBeUndefined()
  }
})

test('no_proxy names hosts, domains, networks and ports', () => {
  const direct = (no_proxy: string, url: string) =>
    choose(url, { https_proxy, no_proxy }) === undefined
  expect(direct('api.example', 'https://api.example')).toBe(true)
  expect(direct('example', 'https://api.example')).toBe(true)
  expect(direct('.example', 'https://api.example')).toBe(true)
  expect(direct('*.example', 'https://api.example')).toBe(true)
  expect(direct('ample', 'https://api.example')).toBe(false)
  expect(direct('*', 'https://api.example')).toBe(true)
  expect(direct('10.0.0.0/8', 'https://10.1.2.3')).toBe(true)
  expect(direct('10.0.0.0/8', 'https://11.1.2.3')).toBe(false)
  expect(direct('fd00::/8', 'https://[fd00::1]')).toBe(true)
  expect(direct('api.example:8443', 'https://api.example')).toBe(false)
  expect(direct(' other , api.example:443', 'https://api.example')).toBe(true)
})

test('a proxy that is not an http URL is refused', () => {
  expect(() => choose('https://api.example', { https_proxy: 'socks5://x:1' })).toThrow(
    'https_proxy is not an http URL',
  )
})

test('only this machine is loopback', () => {
  expect(['localhost', '127.9.9.9', '[::1]', '::1'].every(isLoopback)).toBe(true)
  expect(['127.evil.example', 'localhost.evil', '0.0.0.0', '10.0.0.1'].some(isLoopback)).toBe(false)
})
