-- include fields

local function life() -- of the server, as far as we may know, and of what it keeps: another one if either began anew
  local info = redis.pcall('INFO', 'server')
  local run = type(info) == 'string' and string.match(info, 'run_id:(%x+)') or ''
  return run .. '/' .. (redis.call('HGET', jobs, '') or '')
end
