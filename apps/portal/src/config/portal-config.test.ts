import { expect, test } from 'bun:test'
import { formatPortalConfig, noConfig, parsePortalConfig } from './portal-config.ts'

const config = {
  manifestLogKey: 'log+1+k',
  softwareRoot: 'ab'.repeat(32),
  proxyUrl: 'http://127.0.0.1:8080',
  proxylessUrl: 'https://127.0.0.1:8443',
  proxylessCaFile: 'tls/ca.pem',
}

test('a document survives a round trip', () => {
  for (const each of [config, noConfig]) {
    expect(parsePortalConfig(JSON.parse(formatPortalConfig(each)))).toEqual(each)
  }
})

test('a document of another version is refused', () => {
  expect(parsePortalConfig({ version: 2 })).toBeUndefined()
  expect(parsePortalConfig(null)).toBeUndefined()
})

test('an address that is not an origin is left out, because it is pasted into shells', () => {
  const read = (proxy_url: unknown) => parsePortalConfig({ version: 1, proxy_url })?.proxyUrl
  expect(read('javascript:alert(1)')).toBeUndefined()
  expect(read('http://127.0.0.1:8080/x?$(id)')).toBe('http://127.0.0.1:8080')
  expect(read(7)).toBeUndefined()
})
