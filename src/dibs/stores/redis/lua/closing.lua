
local function close() -- the index forgets a lock about which there is nothing more to say
  if redis.call('EXISTS', lock, line) == 0 then
    redis.call('ZREM', index, lock)
  end
end
