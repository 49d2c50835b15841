
local function index() -- all anew: one was deleted by hand, or evicted, and the sheets were not
  local found = redis.call('HGETALL', jobs)
  for place = 1, #found, 2 do
    local acts_at = string.match(found[place + 1], '^1\n%d+\n(%-?%d+)\n')
    if acts_at then
      redis.call('ZADD', due, acts_at, found[place])
    end
    redis.call('ZADD', names, 0, found[place])
  end
  if #found > 0 then
    redis.call('ZADD', due, '+inf', '')
  end
end

if not redis.call('ZSCORE', due, '') or not redis.call('ZSCORE', names, '') then
  index()
end
