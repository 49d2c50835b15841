
-- What is kept of the jobs of a namespace.
--   jobs      a hash, name -> the sheet: format (1), revision, when to look at it again (µs, or ''), text; a line each;
--             and '' -> the revision that it was begun with
--   due       the names by when to look at them again (µs); and '', last of all, as long as there are sheets
--   names     the names in their order; and '', first of all, as long as there are sheets
--   entries   a hash, id -> what was noted: format (1); the name of the history and the tags, between tabs; text
--   lines     of each name: the ids of what is in its history, by their time (µs)
--   tagged    of each tag, which may be the name of another history: the same
--   ends      the names of the histories by when they are over (µs) unless something is added to them
--   counter   the last fence, or revision, or id

local function text(number) -- .. would round it
  return string.format('%.0f', number)
end
