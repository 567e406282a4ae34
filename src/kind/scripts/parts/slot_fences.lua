-- The fences of a semaphore's slots: KEYS[3] a hash, one for each slot; KEYS[4] the node's marker. Without KEYS[3] there are
-- none.
local function see_fences(marker)
    if not KEYS[3] then
        return nil
    end
    if marker ~= '' and redis.call('mget', KEYS[4])[1] ~= marker then
        return redis.status_reply('STRANGER')
    end
    local kind = redis.call('type', KEYS[3]).ok
    if kind ~= 'none' and kind ~= 'hash' then
        return redis.error_reply('WRONGTYPE these are no fences of a semaphore: ' .. KEYS[3])
    end
end
-- Of these slots the highest, and whether each has one. Nothing: one is no number that can be counted on from.
local function highest_of(slots)
    local highest, all = 0, true
    for _, fence in ipairs(redis.call('hmget', KEYS[3], unpack(slots))) do
        local number = tonumber(fence or 0)
        if not (number and number >= 0 and number < 8796093022208) then
            return nil
        end
        all = all and fence
        highest = math.max(highest, number)
    end
    return highest, all
end
local function no_fence()
    return redis.error_reply('WRONGTYPE a fence is no number that can be counted on from: ' .. KEYS[3])
end
-- As in fenced_vote.lua.
local function count_on(slots, proposal, milliseconds)
    if not KEYS[3] then
        return 0
    end
    local highest = highest_of(slots)
    local latest = now + math.floor(milliseconds / 2)
    local fence = highest and math.max(highest + 1, math.min(tonumber(proposal), latest))
    if not fence or fence >= 8796093022208 then
        return nil, no_fence()
    end
    return fence
end
local function set_fences(slots, fence, milliseconds)
    if not KEYS[3] then
        return
    end
    for _, slot in ipairs(slots) do
        redis.call('hset', KEYS[3], slot, string.format('%.0f', fence))
    end
    redis.call('pexpire', KEYS[3], milliseconds)
end
