-- Shapes of inputs in one notation, such as `8,64;64`. GPU traces have a list of lists; Ascend profiles have `8,64;`
-- and `64` on separate lines. An input without a shape is empty; a list of tensors keeps its brackets: `[8,64;64];8`.
shapes_text(shapes) as
    case
        when shapes like '[%'
            then translate(
                regexp_replace(
                    regexp_replace(
                        replace(replace(substr(regexp_replace(shapes, '\s', '', 'g')[:-2], 2), '[[', '{'), ']]', '}'), '([\]}]),', '\1;', 'g'
                    ),
                    ',([\[{])', ';\1', 'g'
                ),
                '{}[]', '[]'
            )
        else regexp_replace(shapes, '\s', '', 'g')
    end
