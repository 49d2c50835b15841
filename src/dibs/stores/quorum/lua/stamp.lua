
local function stamp(owner, mine, fence) -- a hold has another fence from now on
  local known = string.gsub(mine, '^([^\n]*\n1\n)%d+', '%1' .. text(fence))
  if value then
    value = known
    redis.call('SET', lock, known, 'KEEPTTL')
  else
    listed = nil
    redis.call('HSET', holders, owner, known)
  end
end
